package eval_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// TestTypesCallFunctions checks that the definition of a type can call
// functions that need other types, also through other Interps and threads.
func TestTypesCallFunctions(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := func(name string, call func(c *eval.Call) (value.Value, error)) *eval.Function {
		return &eval.Function{Name: name, Signatures: []eval.Signature{{Params: "M::K $k", Run: call}}}
	}
	env := newEnv()
	env.Library = eval.NewLibrary(newLoader(t, map[string]string{
		"k":   "type M::K = String",
		"key": "function m::key(M::K $k) >> Integer { 5 }",
		"t":   "type M::T = Integer[fork('k')]",
	}), append(functions(),
		ask("fork", func(c *eval.Call) (value.Value, error) {
			return c.Fork(c.Context(), nil).Call("m::key", nil, c.Args...)
		}),
		ask("anew", func(c *eval.Call) (value.Value, error) { return c.Interp.Call(c.Context(), "m::key", c.Args...) }),
		ask("other", func(c *eval.Call) (value.Value, error) {
			return eval.New(*c.Interp.Env()).Call(c.Context(), "m::key", c.Args...)
		}),
		ask("same", func(c *eval.Call) (value.Value, error) { return c.CallFor("somebody", "m::key", c.Args...) }),
	)...)
	for _, call := range []string{"fork", "anew", "other", "same", "m::key"} {
		p, err := syntax.Parse(syntax.NewFile("test.pp", fmt.Sprintf("type A = Integer[%s('k')] [5 =~ A, 4 =~ A, 5 =~ M::T, 4 =~ M::T]", call)), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			v, err := eval.New(env).Run(ctx, p, nil)
			if err != nil || value.Inspect(v) != "[true, false, true, false]" {
				t.Errorf("%s: got %v, %v", call, v, err)
			}
		}()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatalf("%s: waits for ever", call)
		}
	}
}

// TestTypesResolvedConcurrently checks that threads that resolve types that
// refer to each other do not wait for each other and get the same types.
func TestTypesResolvedConcurrently(t *testing.T) {
	for range 20 {
		var meet sync.WaitGroup
		meet.Add(2)
		env := newEnv()
		env.Library = eval.NewLibrary(newLoader(t, map[string]string{
			"a": "type M::A = Object[{attributes => {b => Optional[M::B], n => Integer[meet(), 10]}}]",
			"b": "type M::B = Object[{attributes => {a => Optional[M::A], n => Integer[meet(), 10]}}]",
		}), append(functions(), &eval.Function{Name: "meet", Signatures: []eval.Signature{{Run: func(c *eval.Call) (value.Value, error) {
			c.Interp.Env().Data.(*sync.Once).Do(func() { meet.Done(); meet.Wait() }) // both are in the midst of it now
			return value.Int(1), nil
		}}}})...)
		var types [2][2]value.Value
		var all sync.WaitGroup
		for i, src := range []string{"[M::A, M::B]", "[M::B, M::A]"} {
			p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				env := env
				env.Data = new(sync.Once)
				v, err := eval.New(env).Run(t.Context(), p, nil)
				if err != nil {
					t.Error(err)
					return
				}
				list := v.(*value.Array)
				types[i] = [2]value.Value{list.At(i), list.At(1 - i)}
			})
		}
		all.Wait()
		if types[0] != types[1] {
			t.Fatalf("two types of one name: %v, %v", types[0], types[1])
		}
	}
}

// TestTypeResolutionEndsWithContext checks that resolving a type ends when the
// context is done.
func TestTypeResolutionEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := newEnv()
	env.Log = func(eval.Log) { cancel() }
	p, err := syntax.Parse(syntax.NewFile("test.pp", "type A = Integer[Integer[0, 99999999999].reduce(0) |$m, $x| { if $x == 5 { notice('now') } $m }] 5 =~ A"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var e *eval.Error
	if _, err := eval.New(env).Run(ctx, p, nil); !errors.As(err, &e) || e.Kind != "canceled" {
		t.Errorf("got %v", err)
	}
}

// TestCallForIsVisibleInside checks that the value of CallFor is visible only
// inside of the call.
func TestCallForIsVisibleInside(t *testing.T) {
	env := newEnv()
	var seen []any
	env.Library = eval.NewLibrary(nil, append(functions(),
		&eval.Function{Name: "see", Signatures: []eval.Signature{{Params: "Any *$args", Run: func(c *eval.Call) (value.Value, error) {
			seen = append(seen, c.Behalf(), c.Fork(c.Context(), nil).Behalf())
			return nil, nil
		}}}},
		&eval.Function{Name: "inside", Signatures: []eval.Signature{{Params: "String $of, String $f", Run: func(c *eval.Call) (value.Value, error) {
			return c.CallFor(c.Args[0], string(c.Args[1].(value.String)), value.String("b"), value.String("see"))
		}}}})...)
	if _, err := run(t, env, "see() inside('a', 'see') inside('a', 'inside') see()"); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(seen), fmt.Sprint([]any{nil, nil, "a", "a", "b", "b", nil, nil}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	e := fault(t, env, "function out(*$x) { break() } [1].each |$x| { inside('a', 'out') }")
	if e.Kind != "illegal-break" {
		t.Errorf("got %v", e)
	}
}

// TestStepLimitIsShared checks that the step limit applies to all threads of an
// Interp together.
func TestStepLimitIsShared(t *testing.T) {
	env := newEnv()
	env.Limits.Steps = 100_000
	p, err := syntax.Parse(syntax.NewFile("test.pp", "Integer[1, 1000].each |$x| { }"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := eval.New(env)
	for n := 1; ; n++ {
		var e *eval.Error
		if _, err = in.Run(t.Context(), p, nil); errors.As(err, &e) && e.Kind == "too-long" && n > 50 && n < 200 {
			break
		}
		if err != nil || n == 200 {
			t.Fatalf("run %d: got %v", n, err)
		}
	}
	// Without its own limit, an evaluation ends, too.
	env = newEnv()
	env.Library = eval.NewLibrary(nil, &eval.Function{Name: "work", Signatures: []eval.Signature{{Run: func(c *eval.Call) (value.Value, error) {
		return nil, c.Step(eval.DefaultSteps)
	}}}})
	e := fault(t, env, "work() work()")
	if e.Kind != "too-long" {
		t.Errorf("got %v", e)
	}
}
