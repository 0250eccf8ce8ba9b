package main

import (
	"context"

	"bolt/cli"
	"bolt/cli/releasing"
	"bolt/cli/rollouts"
)

// The meanings of exit codes of commands of rollouts.
const (
	exitWaits   = "3  it is paused, or waits for an approval or a window\n"
	exitRollout = "0  the rollout succeeded\n" + exitWaits + "1  it failed, was aborted or was rolled back; or "
	exitAsked   = "0  it is recorded\n1  it is not possible now; or "
)

// rolloutCommands returns the commands of rollouts.
func (s system) rolloutCommands() []command {
	names := []cli.Completer{completes(s, (*app).rollouts, (*rollouts.Invocation).Complete)}
	releases := []cli.Completer{completes(s, (*app).releasing, (*releasing.Invocation).Complete)}
	limits := cli.Wording{Help: "A plan of the rollout acts on at most N targets at once (default 100). The strategy limits the nodes in work (concurrency, by default 50)."}
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
	events := shown("events", by((*app).rollouts, (*rollouts.Invocation).Events), onSince, onEvents)
	events.Reworded = map[string]cli.Wording{"since": {Arg: "N", Section: secRelease, Help: "Only events after event N."}}
	return []command{
		{run: by((*app).rollouts, (*rollouts.Invocation).PlanOnly), Command: cli.Command{
			Name: "rollout plan", Args: "[RELEASE]", Check: cli.OneArgument, Complete: releases, Exit: exitShown, Formats: plainFormats,
			Lists: []string{onRelease, onStrategy, onStages, onParams, onNoop, onTargets, onInventory, onModules},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Start), Command: cli.Command{
			Name: "rollout start", Args: "[RELEASE]", Check: cli.OneArgument, Complete: releases, Exit: exitRollout, Formats: eventFormats, Reworded: map[string]cli.Wording{"concurrency": limits},
			Lists: append([]string{onStrategy, onStages, onStart, onParams, onRollout, onReason, onNoop, onTargets}, driving...),
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Advance), Command: cli.Command{
			Name: "rollout advance", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Formats: eventFormats,
			Reworded: map[string]cli.Wording{"verbose": {Help: "Also print rollouts in which nothing is due."}, "concurrency": limits},
			Exit:     "0  all that was due was done\n3  a rollout is paused, or waits for an approval or a window\n1  a rollout failed, was aborted or was rolled back; or ", Lists: driving,
		}},
		shown("status", with(runRolloutStatus)),
		shown("watch", by((*app).rollouts, (*rollouts.Invocation).Watch), onWatch),
		{run: by((*app).rollouts, (*rollouts.Invocation).Edit), Command: cli.Command{
			Name: "rollout edit", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitAsked, Formats: plainFormats,
			Lists:    append([]string{onStrategy, onInventory}, steering...),
			Reworded: map[string]cli.Wording{"strategy": {Help: "The file of the new strategy (required): waves, gates and limits."}},
		}},
		asked("pause", by((*app).rollouts, (*rollouts.Invocation).Pause)),
		{run: by((*app).rollouts, (*rollouts.Invocation).Resume), Command: cli.Command{
			Name: "rollout resume", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitRollout, Formats: eventFormats, Reworded: map[string]cli.Wording{"concurrency": limits},
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
			Name: "rollout abort", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names, Exit: exitAsked, Formats: eventFormats, Lists: append([]string{onAbort, onReason}, driving...), Reworded: map[string]cli.Wording{"concurrency": limits},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Rollback), Command: cli.Command{
			Name: "rollout rollback", Args: "[ROLLOUT]", Check: cli.OneArgument, Complete: names,
			Exit:    "0  the nodes have their earlier releases\n3  the rollback is paused\n1  the rollback failed, or is not possible; or ",
			Formats: eventFormats, Lists: append([]string{onReason}, driving...), Reworded: map[string]cli.Wording{"concurrency": limits},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).History), voice: noFiles, Command: cli.Command{
			Name: "rollout history", Check: cli.NoArguments, Exit: exitShown, Formats: plainFormats, Lists: []string{onRelease},
		}},
		{run: by((*app).rollouts, (*rollouts.Invocation).Collect), voice: noFiles, Command: cli.Command{
			Name: "rollout gc", Check: cli.NoArguments,
			Exit: "0  everything was removed\n1  it could not be removed; or ", Formats: plainFormats, Lists: []string{onRelease, onGC, onNoop},
			Reworded: map[string]cli.Wording{"keep": {Help: "Remove all rollouts but the last N. Rollouts that have not ended, or were the last on a node, stay."}},
		}},
		shown("show", by((*app).rollouts, (*rollouts.Invocation).Show)),
		events,
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

func runRolloutStatus(ctx context.Context, a *app, o *rollouts.RolloutOptions) error {
	collectLate(64) // enough for the log of 10,000 nodes
	return a.rollouts().Status(ctx, o)
}
