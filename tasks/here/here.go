// Package here runs tasks on this machine for plugins. It does not read the
// inventory's settings for this machine, because the inventory may not be
// complete yet.
package here

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/local"
	"bolt/transport/option"
)

// Options are the settings of Tasks. Library, Settings and Warn are required.
type Options struct {
	Library *tasks.Library
	Natives map[string]tasks.Native
	// Settings returns the options of the transport local; later ones override.
	Settings func(context.Context) []*ordered.Map
	Project  string // directory
	Home     string // of the user
	Timeout  time.Duration
	Warn     func(id, text string)
	Logger   *slog.Logger
}

// Tasks runs tasks on this machine. It is a plugin.Tasks and a plugin.Describer.
type Tasks struct{ o Options }

// New returns Tasks.
func New(o Options) *Tasks { return &Tasks{o} }

// Parameters implements plugin.Tasks.
func (l *Tasks) Parameters(ctx context.Context, name string) (names []string, any, ok bool, err error) {
	t, err := l.o.Library.Find(ctx, name)
	if f, is := errors.AsType[*fault.Error](err); is && f.Kind == tasks.UnknownTask {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	for i := range t.Parameters {
		names = append(names, t.Parameters[i].Name)
	}
	return names, !t.Typed, true, nil
}

// Run implements plugin.Tasks.
func (l *Tasks) Run(ctx context.Context, name string, params *ordered.Map, runAs string) (*ordered.Map, error) {
	library := l.o.Library
	t, err := library.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	declared, own := &ordered.Map{}, &ordered.Map{}
	for k, v := range params.All() {
		if strings.HasPrefix(k, "_") {
			own.Set(k, v)
		} else {
			declared.Set(k, v)
		}
	}
	checked, err := t.Check(declared)
	if f, is := errors.AsType[*fault.Error](err); is { // the mistake is in the inventory, not on the command line
		return nil, &fault.Error{Kind: "bolt/validation-error", Msg: f.Msg, Details: f.Details, Err: err}
	}
	if err != nil {
		return nil, err
	}
	for k, v := range own.All() {
		checked.Set(k, v)
	}
	action, err := library.Run(ctx, t, checked, tasks.RunOptions{RunAs: runAs, Natives: l.o.Natives})
	if err != nil {
		return nil, err
	}
	here, err := l.target(ctx)
	if err != nil {
		return nil, err
	}
	var result *event.Result
	runner := run.New(local.NewDialer(local.Options{Logger: l.o.Logger}), run.Options{Log: l.o.Logger, Timeout: l.o.Timeout})
	_ = runner.Run(ctx, action, []*inventory.Target{here}, event.Func(func(_ context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			result = end.Result
		}
		return nil
	}))
	if !result.OK() {
		return nil, &fault.Error{Kind: result.Err.Kind, Code: result.Err.Code, Msg: result.Err.Msg, Details: result.Err.Details}
	}
	return result.Value, nil
}

// target returns this machine as a target. Its only setting is the interpreters of
// the transport local. Other settings in files and on the command line (--run-as,
// --tmpdir) are for targets.
func (l *Tasks) target(ctx context.Context) (*inventory.Target, error) {
	config := make(map[string]*ordered.Map)
	if found := interpreters(l.o.Settings(ctx)); found.Len() > 0 {
		config[local.Protocol] = ordered.Of("interpreters", found)
	}
	inv, err := inventory.New(ctx, &ordered.Map{}, inventory.Options{
		Transports: []option.Transport{local.Transport()}, Config: config, Project: l.o.Project, Home: l.o.Home, Warn: l.o.Warn,
	})
	if err != nil {
		return nil, err
	}
	targets, err := inv.Targets(ctx, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	return targets[0], nil
}

// interpreters returns the interpreters in the settings. It ignores settings that
// plugins make, because they may need the plugin that is about to run.
func interpreters(settings []*ordered.Map) *ordered.Map {
	all := &ordered.Map{}
	for _, options := range settings {
		found, _ := options.Value("interpreters").(*ordered.Map)
		for ext, v := range found.All() {
			switch v.(type) {
			case string, []any:
				all.Set(ext, v)
			}
		}
	}
	all.Delete("_plugin")
	return all
}

// Description implements plugin.Describer.
func (l *Tasks) Description(ctx context.Context, name string) (string, error) {
	t, err := l.o.Library.Find(ctx, name)
	if err != nil {
		return "", err
	}
	return t.Description, nil
}
