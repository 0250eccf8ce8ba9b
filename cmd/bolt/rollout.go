package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"bolt/apply/fleet"
	"bolt/cli"
	"bolt/cli/releasing"
	"bolt/cli/rollouts"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/plans"
	"bolt/project"
	"bolt/rollout/webhook"
	"bolt/run"
)

// rollouts returns the parts of this invocation that the commands of rollouts use.
func (a *app) rollouts() *rollouts.Invocation {
	who := a.auditing().Actor()
	v := &rollouts.Invocation{
		Out: results{a.sys.out}, Console: a.Console, Format: a.format(), Color: a.Color(), Logs: a.logs, Version: version,
		Project: a.project.Dir, Found: a.project.Origin != project.User && a.project.Origin != project.System, State: filepath.Join(a.project.Dir, releasing.Dir), User: who.User, Host: who.Host,
		Vault: a.vault(), Signers: a.config.AllowedSigners(),
		Inventory: a.sources.Inventory, Targets: a.sources.Targets, CachedFacts: a.sources.CachedFacts,
		Query: func(ctx context.Context, pql string) ([]string, error) {
			return a.sources.PuppetDB().Certnames(ctx, pql, "")
		},
		Rows: func(ctx context.Context, pql string) ([]any, error) { return a.sources.PuppetDB().Query(ctx, pql, "") },
		Runner: func() (*run.Runner, func(), error) {
			d, err := a.connecting().Dialer()
			if err != nil {
				return nil, nil, err
			}
			return run.New(d, run.Options{Timeout: a.timeout(), Log: a.log}), func() { d.Close() }, nil
		},
		Delivery: fleet.Delivery{Dir: a.config.Apply.Dir, Setting: project.ApplyDirSetting, By: who.Address()},
		Task: func(ctx context.Context, name string, params map[string]any, noop bool) (run.Action, error) {
			library := a.tasks
			t, err := library.Find(ctx, name)
			if err != nil {
				return nil, err
			}
			given, err := asData(params)
			if err != nil {
				return nil, err
			}
			return a.taskAction(ctx, library, t, given, noop)
		},
		Plan: a.planValue, PlanParams: a.planParams, TaskParams: a.taskParameters,
		Webhooks: func(ctx context.Context) ([]*webhook.Hook, error) {
			v, err := a.sources.Resolved(ctx, ordered.Of(webhook.Key, a.config.Settings.Value(webhook.Key))) // with the key for errors
			if err != nil {
				return nil, err
			}
			return webhook.Read(v.(*ordered.Map).Value(webhook.Key), a.project.File())
		},
		Keeper: a.keeper,
		Params: func(ctx context.Context, text string) (params map[string]any, err error) {
			m, err := a.Object(ctx, "params", text)
			if err != nil {
				return nil, err
			}
			data, err := m.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(data, &params)
			}
			return params, err
		},
	}
	if ask := a.Asker(a.sources.Redact); ask != nil {
		v.Confirm = func(ctx context.Context, question string) (bool, error) {
			answer, err := ask(ctx, question, false)
			return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y"), err
		}
	}
	v.Fullscreen = a.Screen.Fullscreen()
	if r := a.auditing().Recorder(); r != nil {
		v.Record = r
	}
	return v
}

// asData returns parameters of a strategy in the form for tasks and plans. The log of a rollout contains them
// as JSON.
func asData(params map[string]any) (*ordered.Map, error) {
	m := &ordered.Map{}
	text, err := json.Marshal(params)
	if err != nil || params == nil {
		return m, err
	}
	return m, m.UnmarshalJSON(text)
}

// planParams returns the parameters of a plan, and taskParameters those of a task.
func (a *app) planParams(ctx context.Context, name string) ([]rollouts.Parameter, error) {
	p, err := a.runs().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	list := make([]rollouts.Parameter, len(p.Parameters))
	for i, q := range p.Parameters {
		list[i] = rollouts.Parameter{Name: q.Name, Required: !q.HasDefault}
	}
	return list, nil
}

func (a *app) taskParameters(ctx context.Context, name string) ([]rollouts.Parameter, error) {
	t, err := a.tasks.Find(ctx, name)
	if err != nil || !t.Typed {
		return nil, err
	}
	list := make([]rollouts.Parameter, len(t.Parameters))
	for i := range t.Parameters {
		list[i] = rollouts.Parameter{Name: t.Parameters[i].Name, Required: !t.Parameters[i].Optional()}
	}
	return list, nil
}

// planValue runs a plan without showing it, and returns its value. The error is the error of the
// plan.
func (a *app) planValue(ctx context.Context, name string, params map[string]any) (any, error) {
	p, err := a.runs().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	given, err := asData(params)
	if err != nil {
		return nil, err
	}
	r, err := a.runs().Run(p, plans.Words{Params: given})
	if err != nil {
		return nil, err
	}
	inv, err := a.sources.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	dialer, err := a.connecting().Dialer()
	if err != nil {
		return nil, err
	}
	defer dialer.Close()
	var value any
	var failure error
	sink := event.Func(func(_ context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.Returned:
			value = e.Value
		case event.Failed:
			failure = fault.New("bolt/plan-failure", "%s", e.Msg)
		}
		return nil
	})
	options := a.executorOptions(inv, dialer)
	options.Sink = sink
	err = r.Play(ctx, a.languageOptions(), options)
	if failure != nil {
		return nil, failure
	}
	return value, err
}

func completeRollouts(ctx context.Context, a *app, q cli.Query) cli.Completions {
	var o rollouts.StateOptions
	o.Bind(cli.NewBinder(a.values, nil))
	return a.rollouts().Complete(ctx, &o, q.Prefix)
}

// The meanings of exit codes of commands of rollouts.
const (
	exitWaits   = "3  it is paused, or waits for an approval or a window\n"
	exitRollout = "0  the rollout succeeded\n" + exitWaits + "1  it failed, was aborted or was rolled back; or "
	exitAsked   = "0  it is recorded\n1  it is not possible now; or "
)

// rolloutCommands returns the commands of rollouts.
func (s system) rolloutCommands() []command {
	names := []cli.Completer{s.opened(completeRollouts)}
	releases := []cli.Completer{s.opened(completeReleases)}
	driving := []string{onRelease, onAction, onTimeout, onInventory, onModules}
	steering := []string{onRelease, onReason}
	asked := func(name string, run action) command {
		return command{run: run, voice: noFiles, Command: cli.Command{
			Name: "rollout " + name, Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitAsked, Formats: plainFormats, Lists: steering,
		}}
	}
	shown := func(name string, run action, lists ...string) command {
		return command{run: run, voice: noFiles, Command: cli.Command{
			Name: "rollout " + name, Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitShown, Formats: plainFormats, Lists: append([]string{onRelease}, lists...),
		}}
	}
	return []command{
		{run: by((*app).rollouts, (*rollouts.Invocation).PlanOnly), Command: cli.Command{
			Name: "rollout plan", Args: "[RELEASE]", Check: cli.OneArgument, Complete: releases, Exit: exitShown, Formats: plainFormats,
			Lists: []string{onRelease, onStrategy, onStages, onParams, onNoop, onTargets, onInventory, onModules},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Start), Command: cli.Command{
			Name: "rollout start", Args: "[RELEASE]", Check: cli.OneArgument, Complete: releases, Exit: exitRollout, Formats: eventFormats,
			Lists: append([]string{onStrategy, onStages, onStart, onParams, onRollout, onReason, onNoop, onTargets}, driving...),
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Advance), Command: cli.Command{
			Name: "rollout advance", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Formats: eventFormats,
			Exit: "0  all that was due was done\n3  a rollout is paused, or waits for an approval or a window\n1  a rollout failed, was aborted or was rolled back; or ", Lists: driving,
		}},
		shown("status", by((*app).rollouts, (*rollouts.Invocation).Status)),
		shown("watch", by((*app).rollouts, (*rollouts.Invocation).Watch), onWatch),
		{run: by((*app).rollouts, (*rollouts.Invocation).Edit), Command: cli.Command{
			Name: "rollout edit", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitAsked, Formats: plainFormats,
			Lists: append([]string{onStrategy, onInventory}, steering...),
		}},
		asked("pause", by((*app).rollouts, (*rollouts.Invocation).Pause)),
		{run: by((*app).rollouts, (*rollouts.Invocation).Resume), Command: cli.Command{
			Name: "rollout resume", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitRollout, Formats: eventFormats,
			Lists: append([]string{onRollout, onReason}, driving...),
		}},
		asked("approve", by((*app).rollouts, (*rollouts.Invocation).Approve)),
		asked("reject", by((*app).rollouts, (*rollouts.Invocation).Reject)),
		asked("promote", by((*app).rollouts, (*rollouts.Invocation).Promote)),
		{run: by((*app).rollouts, (*rollouts.Invocation).Skip), voice: noFiles, Command: cli.Command{
			Name: "rollout skip", Args: "NODE [ROLLOUT]", Check: rollouts.SkipArguments, Complete: append([]cli.Completer{nil}, names...), Exit: exitAsked, Formats: plainFormats, Lists: steering,
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Retry), voice: noFiles, Command: cli.Command{
			Name: "rollout retry", Args: "[ROLLOUT] [NODE...]", Check: cli.AnyArguments, Complete: names, Exit: exitAsked, Formats: plainFormats, Lists: steering,
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Abort), Command: cli.Command{
			Name: "rollout abort", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitAsked, Formats: eventFormats, Lists: append([]string{onAbort, onReason}, driving...),
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Rollback), Command: cli.Command{
			Name: "rollout rollback", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names,
			Exit:    "0  the nodes have their earlier releases\n3  the rollback is paused\n1  the rollback failed, or is not possible; or ",
			Formats: eventFormats, Lists: append([]string{onReason}, driving...),
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).History), voice: noFiles, Command: cli.Command{
			Name: "rollout history", Check: cli.NoArguments, Exit: exitShown, Formats: plainFormats, Lists: []string{onRelease},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Collect), voice: noFiles, Command: cli.Command{
			Name: "rollout gc", Check: cli.NoArguments,
			Exit: "0  everything was removed\n1  it could not be removed; or ", Formats: plainFormats, Lists: []string{onRelease, onGC, onNoop},
		}},
		shown("show", by((*app).rollouts, (*rollouts.Invocation).Show)),
		shown("events", by((*app).rollouts, (*rollouts.Invocation).Events), onSince, onEvents),
		{run: by((*app).rollouts, (*rollouts.Invocation).Strategy), voice: noFiles, Command: cli.Command{
			Name: "rollout strategy", Args: "new|check FILE", Check: rollouts.StrategyArguments, Complete: []cli.Completer{rollouts.CompleteStrategy, cli.FileOf("yaml", "yml")},
			Exit: "0  the file was written, or has no mistakes\n1  the file has mistakes; or ", Formats: plainFormats, Lists: []string{onModules},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Webhook), voice: noFiles, Command: cli.Command{
			Name: "rollout webhook", Args: "test", Check: rollouts.WebhookArguments, Complete: []cli.Completer{rollouts.CompleteWebhook},
			Exit: "0  all webhooks have taken the event\n1  a webhook has not taken it; or ", Formats: plainFormats,
		}},
	}
}
