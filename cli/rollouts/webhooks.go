package rollouts

import (
	"context"
	"net/http"
	"time"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/rollout/ledger"
	"bolt/rollout/webhook"
)

// hooks returns the webhooks of the project, with their secrets.
func (v *Invocation) hooks(ctx context.Context) ([]*webhook.Hook, error) {
	config := v.Running.Config
	r, err := v.Running.Sources.Resolved(ctx, ordered.Of(webhook.Key, config.Settings.Value(webhook.Key))) // with the key for errors
	if err != nil {
		return nil, err
	}
	return webhook.Read(r.(*ordered.Map).Value(webhook.Key), config.Project.File())
}

// deliver makes the webhooks of the project get the events of rollouts that b drives. The returned function waits for a short time until
// the receivers have them.
func (v *Invocation) deliver(ctx context.Context, b *book) (wait func(), err error) {
	hooks, err := v.hooks(ctx)
	if err != nil || len(hooks) == 0 {
		return func() {}, err
	}
	b.webhooks = webhook.New(ctx, v.webhookOptions(b, hooks))
	return b.webhooks.Close, nil
}

// deliverAnyhow is deliver for commands that a wrong setting must not stop: the next one can send the events.
func (v *Invocation) deliverAnyhow(ctx context.Context, b *book) (wait func()) {
	wait, err := v.deliver(ctx, b)
	if err != nil {
		v.Logs.Warn("rollout_webhook", "Webhooks get no events now: "+err.Error()+"\nWhen this is mended, 'bolt rollout advance' sends the events")
	}
	return wait
}

func (v *Invocation) webhookOptions(b *book, hooks []*webhook.Hook) webhook.Options {
	o := webhook.Options{Hooks: hooks, Holder: v.holder(), Agent: "bolt/" + v.Version, Proxy: http.ProxyFromEnvironment, Warn: v.Logs.Warn}
	if b != nil {
		o.Logs = b.store
	}
	return o
}

// WebhookOptions are those of rollout webhook.
type WebhookOptions struct{ what string }

// Bind reads the argument.
func (o *WebhookOptions) Bind(b *cli.Binder) { b.Arg(&o.what) }

const testWord = "test"

// WebhookArguments is the Check of rollout webhook.
func WebhookArguments(args []string) error {
	switch {
	case len(args) == 0 || args[0] != testWord:
		return cli.Errorf("Must specify 'test'")
	case len(args) > 1:
		return cli.Errorf("Unknown argument '%s'", args[1])
	}
	return nil
}

// CompleteWebhook completes the argument of rollout webhook.
func CompleteWebhook(_ context.Context, q cli.Query) cli.Completions {
	return cli.Named([]cli.Word{{Text: testWord, About: "send a test event to each webhook"}}, q.Prefix)
}

// Webhook carries out rollout webhook test: it sends a test event once to each webhook. It fails if one of them does not take it.
func (v *Invocation) Webhook(ctx context.Context, _ *WebhookOptions) error {
	hooks, err := v.hooks(ctx)
	if err != nil {
		return err
	}
	if len(hooks) == 0 {
		e := fault.New(ledger.Kind, "The project has no webhooks")
		e.Hint = "list them under webhooks in bolt-project.yaml"
		return e
	}
	d := webhook.New(ctx, v.webhookOptions(nil, hooks))
	defer d.Close()
	probes, err := d.Test(ctx)
	if err != nil {
		return failed(err)
	}
	lost := false
	for _, p := range probes {
		if !p.OK {
			lost = true
		}
	}
	if v.Format.Data {
		return cli.Failed(lost, layout.WriteDocument(v.Out, map[string]any{webhook.Key: probes}))
	}
	for _, p := range probes {
		text := "has not taken the test event: " + p.Reason
		if p.OK {
			text = "has taken the test event in " + p.Took.Round(time.Millisecond).String()
		}
		if err := v.say("%s %s", p.Webhook, safetext.TerminalString(safetext.OneLine(text))); err != nil {
			return err
		}
	}
	return cli.Failed(lost, nil)
}
