package eval_test

import (
	"context"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// benchmarks are loops that are typical for programs.
var benchmarks = []struct{ name, src string }{
	{"fib", `function fib(Integer $n) >> Integer { if $n < 2 { $n } else { fib($n - 1) + fib($n - 2) } } fib(20)`},
	{"each", `Integer[1, 100000].each |$x| { $x }`},
	{"map", `Integer[1, 100000].map |$x| { $x * 2 + 1 }`},
	{"reduce", `Integer[1, 100000].reduce(0) |$memo, $x| { $memo + $x % 7 }`},
	{"typed", `Integer[1, 100000].each |Integer[0] $x| { $y = $x + 1  $y == 3 }`},
	{"strings", `Integer[1, 100000].each |$x| { "item ${x} of ${'many'}" }`},
	{"nested", `Integer[1, 300].each |$x| { Integer[1, 300].each |$y| { $x + $y } }`},
	{"case", `Integer[1, 100000].each |$x| { case $x % 4 { 0: { 'a' } 1, 2: { 'b' } default: { 'c' } } }`},
	{"match", `Integer[1, 20000].each |$x| { if "item ${x}" =~ /item (\d+)/ { $1 } }`},
	{"top", `$n = 10 Integer[1, 100000].each |$x| { $x + $n }`},
	{"access", `$h = {'a' => {'b' => [1, 2, 3]}} Integer[1, 100000].each |$x| { $h['a']['b'][1] }`},
}

func BenchmarkRun(b *testing.B) {
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			env := newEnv()
			p, err := syntax.Parse(syntax.NewFile("bench.pp", bm.src), syntax.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := eval.New(env).Run(context.Background(), p, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStart evaluates a small program from its source to its value, with
// its own Interp.
func BenchmarkStart(b *testing.B) {
	env := newEnv()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run(b, env, `$x = [1, 2, 3] $x.map |$y| { $y + 1 }`); err != nil {
			b.Fatal(err)
		}
	}
}
