package tasks_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/all"
	"bolt/transport/local"
)

func TestTally(t *testing.T) {
	w := newWorld(t, map[string]string{"proj/tasks/o.sh": sh, "proj/tasks/o.json": `{"outputs": {"s": {}, "avg": {"aggregate": "average"},
		"lo": {"aggregate": "min"}, "hi": {"aggregate": "max"}, "by": {"aggregate": "count-by"}, "never": {"aggregate": "average"}}}`})
	task, err := w.lib.Find(t.Context(), "proj::o")
	if err != nil {
		t.Fatal(err)
	}
	huge, _ := new(big.Int).SetString("9007199254740993", 10)
	for _, tt := range []struct {
		values []any
		want   []string
	}{
		{[]any{int64(1), 2.5, int64(1), "x", int64(-4)}, []string{`s summary 5: 1=2[t0 t2] 2.5=1[t1] x=1[t3] -4=1[t4]`, `avg average 4: 0.125=4[]`,
			`lo min 4: -4=1[t4]`, `hi max 4: 2.5=1[t1]`, `by count-by 5`, `never average 0:`}},
		{[]any{1.7e308, 1.7e308}, []string{`s summary 2: 1.7e+308=2[t0 t1]`, `avg average 2: 1.7e+308=2[]`, `lo min 2: 1.7e+308=2[t0 t1]`,
			`hi max 2: 1.7e+308=2[t0 t1]`, `by count-by 2: 1.7e+308=2[]`, `never average 0:`}},
		{[]any{int64(9007199254740992), huge, 9007199254740992.0}, []string{`s summary 3`, `avg average 3`,
			`lo min 3: 9.007199254740992e+15=2[t0 t2]`, `hi max 3: 9007199254740993=1[t1]`, `by count-by 3`, `never average 0:`}},
	} {
		sum := task.Tally()
		var targets []*inventory.Target
		for i := range tt.values {
			targets = append(targets, &inventory.Target{Name: fmt.Sprintf("t%d", i)})
		}
		for i, v := range slices.Backward(tt.values) { // results arrive in any order
			sum.Add(targets[i], ordered.Of("s", v, "avg", v, "lo", v, "hi", v, "by", v))
		}
		for i, total := range sum.Totals(targets) {
			line := fmt.Sprintf("%s %s %d:", total.Output.Name, total.Output.Aggregate, total.Count)
			for _, v := range total.Values {
				line += fmt.Sprintf(" %v=%d%v", v.Value, v.Count, v.Targets)
			}
			if !strings.HasPrefix(line, tt.want[i]) {
				t.Errorf("got %s, want %s", line, tt.want[i])
			}
		}
	}
}

// TestOutputOfInterruptedTask checks that the output of a task that did not end is kept,
// without secrets.
func TestOutputOfInterruptedTask(t *testing.T) {
	begun := t.TempDir()
	w := newWorld(t, map[string]string{
		"proj/tasks/text.sh":   sh + `echo so far; touch ` + begun + `/text; sleep 300`,
		"proj/tasks/secret.sh": sh + `echo '{"_sensitive": "hunter2"}'; touch ` + begun + `/secret; sleep 300`,
	})
	for name, want := range map[string]string{"text": "so far\n", "secret": "may contain secrets: the task did not end"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(begun, name)); err == nil {
					cancel()
				}
				time.Sleep(time.Millisecond)
			}
		}()
		task, err := w.lib.Find(ctx, "proj::"+name)
		if err != nil {
			t.Fatal(err)
		}
		action, err := w.lib.Run(ctx, task, &ordered.Map{}, tasks.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res := runOn(t, ctx, action, run.Options{})
		cancel()
		if text, _ := res.Value.Value("_output").(string); res.OK() || !strings.Contains(text, want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: got %q, %v", name, text, res.Err)
		}
	}
}

// localhost returns this machine as a target.
func localhost(t *testing.T) []*inventory.Target {
	t.Helper()
	inv, err := inventory.New(t.Context(), &ordered.Map{}, inventory.Options{Transports: all.Tables(all.List()), Transport: "local"})
	if err != nil {
		t.Fatal(err)
	}
	targets, err := inv.Targets(t.Context(), []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// runOn runs an action on this machine.
func runOn(t *testing.T, ctx context.Context, action run.Action, o run.Options) (res *event.Result) {
	t.Helper()
	err := run.New(local.NewDialer(local.Options{}), o).Run(ctx, action, localhost(t), event.Func(func(_ context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			res = end.Result
			res.Output.Retain()
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestNativeTaskEndings checks that the end of a task that the program itself performs has
// the same messages as the end of commands.
func TestNativeTaskEndings(t *testing.T) {
	w := newWorld(t, nil)
	task, err := w.lib.Find(t.Context(), "builtin")
	if err != nil {
		t.Fatal(err)
	}
	wait := func(ctx context.Context, _ *ordered.Map) (*ordered.Map, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	action, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{Natives: map[string]tasks.Native{"echo": wait}})
	if err != nil {
		t.Fatal(err)
	}
	res := runOn(t, t.Context(), action, run.Options{Timeout: 50 * time.Millisecond})
	if res.Err == nil || res.Err.Kind != "puppetlabs.tasks/timeout-error" || res.Err.Msg != "Not finished within 50ms" {
		t.Errorf("got %+v", res.Err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(run.ErrStopped) })
	res = runOn(t, ctx, action, run.Options{})
	if res.Err == nil || res.Err.Kind != "puppetlabs.tasks/cancelled-error" {
		t.Errorf("got %+v", res.Err)
	}
}
