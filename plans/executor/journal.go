package executor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/apply/fleet"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/inventory"
	"bolt/plans"
	"bolt/plans/journal"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/transport"
)

// A place counts the steps of a branch of the plan; package journal uses its names
// for them. Only the goroutine that has the turn and runs that branch may use it.
type place struct {
	prefix   string // of the branch: "" or "3/2."
	n        int
	replayed bool // the last step was done in an earlier run
}

func (p *place) next() string {
	p.n++
	return p.prefix + strconv.Itoa(p.n)
}

// branch returns the place of a branch that a step begins.
func (p *place) branch(step string, n int) *place {
	return &place{prefix: step + "/" + strconv.Itoa(n) + "."}
}

// record begins a step in the journal, or resumes it. If the outcome of the step is
// unknown, it asks the user. It returns nil without a journal.
func (x *Executor) record(c *eval.Call, a *act, o *options, about string) (*journal.Step, error) {
	if x.o.Journal == nil {
		return nil, nil
	}
	here := flowOf(&c.Site).place
	at := c.Position()
	names := make([]string, len(a.targets))
	for i, t := range a.targets {
		names[i] = t.SafeName()
	}
	action := &journal.Action{Function: a.function, About: about, Targets: names, File: at.File, Line: at.Line,
		Digest: journal.Digest(shown(c.Args), a.marks, a.content(), flowOf(&c.Site).runAs)}
	step, err := x.o.Journal.Step(here.next(), action)
	if err != nil {
		return nil, err
	}
	err = x.decide(c, a, o, step, about)
	here.replayed = step.Done()
	return step, err
}

// These are the decisions about a target on which a step had begun and whose outcome
// is unknown.
const (
	Ask    = ""       // ask the user
	Repeat = "repeat" // do the step again
	Done   = "done"   // treat the step as done
	Failed = "failed" // treat the step as failed
)

// These constants are the kind and the message of the error of a step that is treated
// as failed.
const (
	unknownOutcome = fleet.KindUnknown
	takenAsFailed  = "Treated as failed when the run was resumed: its outcome is unknown."
)

// Outcomes returns the decisions except Ask.
func Outcomes() []string { return []string{Repeat, Done, Failed} }

// decide decides about the targets of a step on which it had begun and whose outcome
// is unknown.
func (x *Executor) decide(c *eval.Call, a *act, o *options, step *journal.Step, about string) error {
	var asking run.Action
	if a.ask != nil {
		asking = a.ask(step)
	}
	unknown := step.Unknown()
	if len(unknown) == 0 || a.harmless {
		return nil
	}
	why := "the run was interrupted after it had begun there"
	if step.Ended() {
		why = "its result was secret and was not recorded"
	}
	if asking != nil {
		told, err := x.inquire(c, a, o, step, asking)
		unknown = step.Unknown()
		if err != nil || len(unknown) == 0 {
			return err
		}
		why += told
	}
	decided, err := x.outcome(c, fmt.Sprintf("The outcome of %s on %s is unknown: %s.", about, strings.Join(unknown, ", "), why))
	if err != nil || decided == Repeat {
		return err
	}
	for _, t := range a.targets {
		if !slices.Contains(unknown, t.SafeName()) {
			continue
		}
		r := &event.Result{Target: t, Action: a.action, Object: a.object, Value: ordered.Of("_output", "Treated as done when the run was resumed: its outcome is unknown.")}
		if decided == Failed {
			r.Value = nil
			r.Err = &event.Error{Kind: unknownOutcome, Class: transport.ClassLost, Details: &ordered.Map{}, Msg: takenAsFailed}
		}
		if err := step.Decide(r); err != nil {
			return err
		}
	}
	return nil
}

// inquire queries the targets of a step for its outcome, and records the known
// outcomes. told contains the answers of the other targets.
func (x *Executor) inquire(c *eval.Call, a *act, o *options, step *journal.Step, asking run.Action) (told string, err error) {
	unknown := step.Unknown()
	targets := slices.DeleteFunc(slices.Clone(a.targets), func(t *inventory.Target) bool { return !slices.Contains(unknown, t.SafeName()) })
	runner := run.New(x.o.Dialer, run.Options{Concurrency: o.concurrency, Slots: x.slots, Spill: x.spill, RunAs: cmp.Or(o.runAs, flowOf(&c.Site).runAs), Timeout: o.timeout, Log: x.o.Log})
	x.apart(func() {
		_ = runner.Run(c.Context(), asking, targets, event.Func(func(_ context.Context, e event.Event) error {
			end, is := e.(event.TargetEnd)
			switch {
			case !is:
			case end.Result.Applied != nil:
				err = cmp.Or(err, step.Decide(end.Result))
			default:
				told += fmt.Sprintf("; %s: %s", end.Result.Target.SafeName(), end.Result.Err.Msg)
			}
			return nil
		}))
	})
	return told, cmp.Or(err, context.Cause(c.Context()))
}

// outcome returns the decision of Options.Unknown, or of the user, about an operation
// whose outcome is unknown.
func (x *Executor) outcome(c *eval.Call, what string) (string, error) {
	if x.o.Unknown != Ask {
		return x.o.Unknown, nil
	}
	stopped := &fault.Error{Kind: journal.Kind, Msg: what,
		Hint: "Check the outcome, then resume the run with --unknown repeat, done or failed. On a terminal, bolt asks instead."}
	for {
		var answer string
		var ok bool
		var err error
		x.apart(func() {
			answer, ok, err = x.askPeople(c.Context(), what+"\n(r)epeat it there, take it as (d)one, take it as (f)ailed, or (s)top? ", false)
		})
		switch {
		case err != nil:
			return "", err
		case !ok:
			return "", stopped
		}
		answer = strings.ToLower(strings.TrimSpace(answer))
		if answer == "s" || answer == "stop" {
			return "", stopped
		}
		for _, o := range Outcomes() {
			if answer == o || answer == o[:1] {
				return o, nil
			}
		}
	}
}

// effect performs an operation other than an action on targets, or returns its
// recorded outcome. The value is data of package ordered. If the operation is treated
// as failed, the value is a map with the key _error. If once is set, the operation
// must not be repeated without asking. detail distinguishes the operation from
// others.
func (x *Executor) effect(c *eval.Call, detail any, once bool, do func() (any, error)) (any, error) {
	if err := x.ending(); err != nil {
		return nil, err
	}
	if x.o.Journal == nil {
		return do()
	}
	e, err := x.begin(c, detail, once)
	if err != nil {
		return nil, err
	}
	if v, known := e.Value(); known {
		return v, nil
	}
	if e.Unknown() {
		decided, err := x.outcome(c, fmt.Sprintf("The outcome of %s is unknown: the run was interrupted after it had begun.", c.Name))
		switch {
		case err != nil:
			return nil, err
		case decided == Failed:
			v := ordered.Of("_error", ordered.Of("kind", unknownOutcome, "msg", takenAsFailed, "details", &ordered.Map{}))
			return v, e.Done(v)
		case decided == Done:
			return nil, e.Done(nil)
		}
	}
	v, err := do()
	if err != nil {
		return nil, err
	}
	return v, e.Done(v)
}

// begin begins an effect at the next place.
func (x *Executor) begin(c *eval.Call, detail any, once bool) (*journal.Effect, error) {
	here := flowOf(&c.Site).place
	e, err := x.o.Journal.Effect(here.next(), c.Name, journal.Digest(detail), once)
	if err != nil {
		return nil, err
	}
	_, here.replayed = e.Value()
	return e, nil
}

// entered records the text of a plan that runs.
func (x *Executor) entered(ctx context.Context, p *plans.Plan) error {
	if x.o.Journal == nil {
		return nil
	}
	digest, err := TextDigest(ctx, p)
	if err != nil {
		return err
	}
	return x.o.Journal.Entered(p.Name, digest)
}

// TextDigest returns the digest of a plan's text.
func TextDigest(ctx context.Context, p *plans.Plan) (string, error) {
	text, err := p.Module.ReadFile(ctx, p.File, readfile.Payload)
	if err != nil {
		return "", fault.File(p.Path(), err, "The plan %s could not be read: %v", p.Path(), fault.WithoutPath(err))
	}
	return journal.Digest(string(text)), nil
}

// ParamsOf returns parameters of a plan as data. The second result contains the names
// of the parameters that are omitted: parameters that are secret, wholly or in part,
// or that JSON cannot represent.
func ParamsOf(p *plans.Plan, h *value.Hash) (params *ordered.Map, secrets []string) {
	params = &ordered.Map{}
	for k, v := range h.All() {
		name := value.ToString(k)
		data, err := Data(v)
		kind := ""
		if q := p.Parameter(name); q != nil {
			kind = q.TypeText
		}
		_, secret := v.(*value.Sensitive)
		unfit := func(text string) bool {
			return !utf8.ValidString(text) || hasPassword(text, strings.Contains(kind, "Target"))
		}
		if err != nil || secret || strings.Contains(kind, "Sensitive") || anyText(data, unfit) {
			secrets = append(secrets, name)
			continue
		}
		params.Set(name, data)
	}
	return params, secrets
}

// anyText reports whether such is true for one of the strings in data.
func anyText(v any, such func(text string) bool) bool {
	switch v := v.(type) {
	case string:
		return such(v)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyText(e, such) })
	case *ordered.Map:
		for k, e := range v.All() {
			if such(k) || anyText(e, such) {
				return true
			}
		}
	}
	return false
}

// hasPassword reports whether a string contains a URI with a password. If targets is
// set, a URI needs no scheme.
func hasPassword(text string, targets bool) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if (targets || strings.Contains(part, "://")) && inventory.SafeName(part) != part {
			return true
		}
	}
	return false
}

// content returns the digest of the files of a task; "" for another action.
func (a *act) content() string {
	action := a.do
	for _, t := range a.targets { // all targets have the same files
		if each := a.each[t]; each != nil {
			action = each
			break
		}
	}
	if files, ok := action.(interface{ Digest() string }); ok {
		return files.Digest()
	}
	return ""
}

// shown returns values as data or text, without secrets, for the digest of a step.
func shown(args []value.Value) []any {
	list := make([]any, len(args))
	for i, v := range args {
		var err error
		if list[i], err = Data(v); err != nil {
			list[i] = value.Inspect(v)
		}
	}
	return list
}

// contentOf returns the digest of a file's content, for the digest of a step.
func contentOf(data []byte) string { return journal.Digest(string(data)) }

// treeDigest returns the digest of a file, or of a directory with everything in it. A
// file that cannot be read has no content here; the copy will report the error.
func treeDigest(ctx context.Context, path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	h := sha256.New()
	_ = filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		fmt.Fprintf(h, "%q\n", strings.TrimPrefix(at, path))
		if info, serr := os.Stat(at); err != nil || serr != nil || !info.Mode().IsRegular() {
			return context.Cause(ctx)
		}
		if f, err := os.Open(at); err == nil {
			n, _ := io.Copy(h, f)
			fmt.Fprintf(h, "\n%d\n", n)
			f.Close()
		}
		return context.Cause(ctx)
	})
	return hex.EncodeToString(h.Sum(nil))
}
