package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"bolt/audit"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
)

// auditWarning is the ID of warnings about records that could not be written.
const auditWarning = "audit"

// auditing is the audit log of an invocation.
type auditing struct {
	once    sync.Once
	log     *audit.Log // nil: nothing is recorded
	request string
	actor   audit.Actor
	steps   atomic.Int64 // of a plan, that were begun
	lost    atomic.Bool  // what became of one could not be recorded
}

// auditLog is the log, nil if there is none.
func (a *app) auditLog() *audit.Log {
	a.audit.once.Do(func() {
		if a.config.Audit.Path != "" {
			a.audit.log, a.audit.request, a.audit.actor = audit.New(a.config.Audit.Path, time.Now), audit.NewRequest(), a.actor()
		}
	})
	return a.audit.log
}

// actor is who runs this process.
func (a *app) actor() audit.Actor {
	who := audit.Actor{UID: os.Getuid(), SudoUser: a.sys.env("SUDO_USER"), PID: os.Getpid(), Version: version}
	if u, err := user.Current(); err == nil {
		who.User = u.Username
	}
	who.Host, _ = os.Hostname() // nobody knows it, then
	// proc_pid_loginuid(5); a login that nobody knows of is 4294967295.
	if text, err := os.ReadFile("/proc/self/loginuid"); err == nil {
		if id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil && uint32(id) != ^uint32(0) {
			login := uint32(id)
			who.LoginUID = &login
		}
	}
	for _, f := range []*os.File{a.sys.in, a.sys.err} {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil && term.IsTerminal(int(f.Fd())) {
			who.TTY = name
			break
		}
	}
	who.Client, _, _ = strings.Cut(cmp.Or(a.sys.env("SSH_CONNECTION"), a.sys.env("SSH_CLIENT")), " ")
	return who
}

// An audited is an action that has begun. It is nil where nothing is recorded.
type audited struct {
	app    *app
	record audit.Record
	began  time.Time
	failed []string
	out    audit.Outcome
}

// audited records that an action is about to be begun; step is its number in a
// plan. The error is that it must not be.
func (a *app) audited(ctx context.Context, step int, what audit.Action, targets []*inventory.Target) (*audited, error) {
	log := a.auditLog()
	if log == nil || what.Name == "" || len(targets) == 0 && step == 0 && what.Name != "plan" {
		return nil, nil
	}
	d := &audited{app: a, began: time.Now()}
	what.RunAs = a.redacted(what.RunAs)
	d.record = audit.Record{Event: audit.Begin, Request: a.audit.request, Step: step, Actor: a.audit.actor, Project: a.project.Dir, Action: what}
	if targets != nil {
		names := make([]string, len(targets))
		for i, t := range targets {
			names[i] = t.SafeName()
		}
		d.record.Targets = audit.NewNames(names)
	}
	if err := log.Add(ctx, &d.record); err != nil {
		if a.config.Audit.Required {
			return nil, notAudited(err)
		}
		a.logs.WarnOnce(auditWarning, err.Error())
		return nil, nil
	}
	return d, nil
}

// notAudited is the error of an action that was not begun, as it could not be recorded.
func notAudited(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Msg += ". It is required, so nothing was begun."
	return &told
}

// came notes what came of the action on a target.
func (d *audited) came(ctx context.Context, r *event.Result) {
	if d == nil {
		return
	}
	switch {
	case r.OK():
		d.out.Succeeded++
	case r.Err.Class == event.ClassSkipped:
		d.out.NotBegun++
		return
	default:
		d.out.Failed++
		if r.Target != nil {
			d.failed = append(d.failed, r.Target.SafeName())
		}
	}
	if r.Target == nil || d.record.RunAs != "" {
		return
	}
	// They are known, as the target was reached by them.
	if s, err := r.Target.Settings(ctx); err == nil && s.RunAs.User != "" {
		if d.out.RunAs == nil {
			d.out.RunAs = make(map[string]int)
		}
		d.out.RunAs[d.app.redacted(s.RunAs.User)]++
	}
}

// ended records what came of an action. failed says so of the whole. The error is
// that it could not be recorded.
func (d *audited) ended(ctx context.Context, failed bool) error {
	if d == nil {
		return nil
	}
	d.out.Status, d.out.Elapsed = audit.Success, time.Since(d.began).Seconds()
	exit := exitOK
	if failed {
		d.out.Status, exit = audit.Failure, exitFailed
	}
	if ctx.Err() != nil {
		d.out.Status = audit.Stopped
	}
	if d.record.Step == 0 {
		d.out.Exit = &exit
	}
	if len(d.failed) > 0 {
		d.out.FailedOn = audit.NewNames(d.failed)
	}
	end := d.record
	end.Event, end.Targets, end.Outcome = audit.End, nil, &d.out
	return d.app.auditLog().Add(context.WithoutCancel(ctx), &end)
}

// auditOf is what is recorded of an action, its zero value for one that does nothing
// on targets. secrets are parameters that are known to be secret, beside those that a
// task calls so.
func (a *app) auditOf(action run.Action, secrets []string) audit.Action {
	if k, ok := action.(*keeping); ok {
		action = k.Action
	}
	if _, ok := action.(*factsQuery); ok {
		return audit.Action{}
	}
	what := audit.Action{Name: action.Name(), RunAs: a.values.last("run-as")}
	what.Object, what.SHA256 = audit.Shown(a.redacted(action.Object()))
	switch do := action.(type) {
	case *run.Command:
		what.Params = a.auditParams(variables(do.Env), secrets)
	case *run.Script:
		what.Object, _ = audit.Shown(a.redacted(absolutePath(do.Path)))
		what.SHA256 = audit.Digest(do.Data)
		given := variables(do.Env)
		if len(do.Args) > 0 {
			given.Set("arguments", list(do.Args))
		}
		what.Params = a.auditParams(given, secrets)
	case *run.Upload:
		what.Object, _ = audit.Shown(a.redacted(absolutePath(do.Source)))
		what.Dest, _ = audit.Shown(a.redacted(do.Dest))
	case *run.Download:
		what.Dest, _ = audit.Shown(a.redacted(do.Dir))
	case *tasks.Run:
		params, sensitive := do.Params()
		secrets = append(sensitive, secrets...)
		what.Noop = params.Value("_noop") == true
		params.Delete("_noop")
		what.Params = a.auditParams(params, secrets)
		what.RunAs = cmp.Or(do.RunAs(), what.RunAs)
	}
	return what
}

// absolutePath is a path that is good in whatever directory the log is read.
func absolutePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// variables are NAME=VALUE words as a map.
func variables(env []string) *ordered.Map {
	m := &ordered.Map{}
	for _, word := range env {
		name, text, _ := strings.Cut(word, "=")
		m.Set(name, text)
	}
	return m
}

// variableNames are those of an action's variables.
func variableNames(action run.Action) (names []string) {
	var env []string
	switch do := action.(type) {
	case *run.Command:
		env = do.Env
	case *run.Script:
		env = do.Env
	}
	for name := range variables(env).All() {
		names = append(names, name)
	}
	return names
}

// auditParams are parameters of which the secret ones are only named.
func (a *app) auditParams(params *ordered.Map, secrets []string) *audit.Params {
	params = params.Clone()
	for name, v := range params.All() {
		if a.hasSecret(v) {
			secrets = append(slices.Clip(secrets), name)
		}
	}
	secrets = slices.Compact(slices.Sorted(slices.Values(secrets)))
	for _, name := range secrets {
		params.Delete(name)
	}
	var names []string
	for name := range params.All() {
		names = append(names, name)
	}
	p, err := audit.NewParams(names, secrets, params)
	if err != nil { // what JSON cannot hold has no digest
		return &audit.Params{Names: names, Secrets: secrets}
	}
	return p
}

// auditOfPlan is what is recorded of a plan.
func (a *app) auditOfPlan(p *plans.Plan, given *value.Hash, j *journal.Run) audit.Action {
	params, secrets := executor.ParamsOf(p, given)
	what := audit.Action{Name: "plan", Object: p.Name, Params: a.auditParams(params, secrets)}
	if j != nil {
		what.Journal = j.ID
	}
	return what
}

// auditStep implements executor.Options.Audit.
func (a *app) auditStep(ctx context.Context, s *executor.Step) (end func([]*event.Result), err error) {
	if a.auditLog() == nil {
		return func([]*event.Result) {}, nil
	}
	secrets := s.Secrets
	if slices.Contains(secrets, "env_vars") { // which of them, nobody says
		secrets = append(slices.Clone(secrets), variableNames(s.Action)...)
	}
	var what audit.Action
	switch {
	case s.Function == "write_file": // from a file of ours
		what = a.auditOf(s.Action, secrets)
		what.Object = ""
	case s.Action != nil:
		what = a.auditOf(s.Action, secrets)
	default:
		what.Name = strings.TrimPrefix(strings.TrimSuffix(s.Function, "_with"), "run_")
		what.Object, what.SHA256 = audit.Shown(a.redacted(s.Object))
	}
	what.RunAs, what.Noop = cmp.Or(s.RunAs, what.RunAs), what.Noop || s.Noop
	d, err := a.audited(ctx, int(a.audit.steps.Add(1)), what, s.Targets)
	if err != nil {
		return nil, err
	}
	return func(results []*event.Result) {
		failed := false
		for _, r := range results {
			d.came(ctx, r)
			failed = failed || !r.OK()
		}
		if lost := d.ended(ctx, failed); lost != nil {
			a.audit.lost.Store(true)
			a.logs.WarnOnce(auditWarning, lost.Error())
		}
	}, nil
}
