package resource

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
)

func TestParams(t *testing.T) {
	r := &Resource{Params: ordered.Of("a", "x", "n", int64(7), "s", "8", "b", true, "w", "no", "l", []any{"x", int64(1)}, "h", ordered.Of()), Secrets: []string{"a"}}
	if v, given, err := r.Text("n"); v != "7" || !given || err != nil {
		t.Errorf("Text(n) = %q, %v, %v", v, given, err)
	}
	if _, given, err := r.Text("none"); given || err != nil {
		t.Errorf("Text(none) = %v, %v", given, err)
	}
	if v, _, _ := r.Texts("l"); strings.Join(v, ",") != "x,1" {
		t.Errorf("Texts(l) = %q", v)
	}
	if v, _, _ := r.Texts("a"); strings.Join(v, ",") != "x" {
		t.Errorf("Texts(a) = %q", v)
	}
	if v, err := r.Int("s", 0); v != 8 || err != nil {
		t.Errorf("Int(s) = %d, %v", v, err)
	}
	if v, err := r.Bool("w", true); v || err != nil {
		t.Errorf("Bool(w) = %v, %v", v, err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(r.Int("a", 0)), "The parameter a must be a whole number"}, // secret
		{second(r.Int("w", 0)), `The parameter w must be a whole number, and is "no"`},
		{second(r.Bool("n", false)), `The parameter n must be true or false, and is "7"`},
		{second(r.Bool("h", false)), "The parameter h must be a string"},
	} {
		var p *ParamError
		if !errors.As(c.err, &p) || c.err.Error() != c.want {
			t.Errorf("error is %v, want %s", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestExec(t *testing.T) {
	ctx := t.Context()
	out, err := Exec(ctx, &Command{Argv: []string{"sh", "-c", `cat; echo "$X" >&2; exit 3`}, Env: []string{"X=y"}, Stdin: []byte("in")})
	if err != nil || string(out.Stdout) != "in" || string(out.Stderr) != "y\n" || out.Code != 3 {
		t.Errorf("Exec = %+v, %v", out, err)
	}
	if out, err = Exec(ctx, &Command{Argv: []string{"sh", "-c", "kill -9 $$"}}); err != nil || out.Code != 137 || out.Signal != 9 {
		t.Errorf("killed program = %+v, %v", out, err)
	}
	if _, err = Exec(ctx, &Command{Argv: []string{"/no/such/program"}}); err == nil {
		t.Error("a program that does not exist was run")
	}
}

// The end of the context ends the program with its children; a program in a session of its own runs on.
func TestExecCancel(t *testing.T) {
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
	defer cancel()
	start := time.Now()
	if _, err := Exec(ctx, &Command{Argv: []string{"sh", "-c", "sleep 60 & wait"}}); !errors.Is(err, late) {
		t.Errorf("error is %v, want %v", err, late)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the program was ended after %v", took)
	}
	if out, err := Exec(ctx, &Command{Argv: []string{"sh", "-c", "sleep 0.2; echo done"}, Session: true}); err != nil || string(out.Stdout) != "done\n" {
		t.Errorf("Exec in a session = %+v, %v", out, err)
	}
	if _, err := Exec(ctx, &Command{Argv: []string{"sh", "-c", "sleep 60 & wait"}, Session: true, Timeout: 50 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Errorf("error is %v, want %v", err, ErrTimeout)
	}
}

func TestExecAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can run programs as another user")
	}
	out, err := Exec(t.Context(), &Command{Argv: []string{"sh", "-c", "id -u >&2; id -G"}, As: &Identity{UID: 65534, GID: 65534, Groups: []uint32{1, 65534}}, Combined: true})
	if err != nil || string(out.Stdout) != "65534\n65534 1\n" {
		t.Errorf("Exec = %+v, %v", out, err)
	}
}

// TestOutput checks that a program writes to a file instead of the output that is kept.
func TestOutput(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := Exec(t.Context(), &Command{Argv: []string{"sh", "-c", "echo out; echo err >&2"}, Output: f})
	if err != nil || len(out.Stdout) > 0 || string(out.Stderr) != "err\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if got, err := os.ReadFile(f.Name()); string(got) != "out\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

// TestFields checks that the first error is kept.
func TestFields(t *testing.T) {
	f := Fields{R: &Resource{Params: ordered.Of("text", "x", "list", []any{}, "flag", "maybe", "map", ordered.Of())}}
	if f.Text("text", "") != "x" || f.Text("none", "y") != "y" || f.Texts("list") == nil || f.Texts("none") != nil || f.Err != nil {
		t.Error(f.Err)
	}
	f.Bool("flag", false)
	f.Text("map", "")
	f.Refuse("text", "is wrong")
	if f.Err == nil || f.Err.Error() != `The parameter flag must be true or false, and is "maybe"` {
		t.Error(f.Err)
	}
}

func TestRefuseValue(t *testing.T) {
	for param, want := range map[string]string{"plain": `The parameter plain must be 1, and is "canary"`, "secret": "The parameter secret must be 1"} {
		f := Fields{R: &Resource{Secrets: []string{"secret"}}}
		f.RefuseValue(param, "must be 1", "canary")
		if f.Err == nil || f.Err.Error() != want {
			t.Errorf("%s: %v", param, f.Err)
		}
	}
}
