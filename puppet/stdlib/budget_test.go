package stdlib

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// The beginnings of the programs of TestEndlessProgramsEnd: a string of 1 MiB, and a value
// that contains it twice, a value that contains that value twice, and so on.
// There is a smaller one, with another value like it.
const (
	longText = `$s = Integer[1, 20].reduce('x') |$m, $x| { "${m}${m}" } `
	wide     = `$a = Integer[1, 24].reduce([1]) |$m, $x| { [$m, $m] } `
	wider    = `$a = Integer[1, 18].reduce([1]) |$m, $x| { [$m, $m] } $b = Integer[1, 18].reduce([1]) |$m, $x| { [$m, $m] } `
	// A hundred times fifty times 1 KiB, which exceeds the limit of a string,
	// and half of the limit: characters that must be quoted.
	large = `$k = Integer[1, 10].reduce('x') |$m, $x| { "${m}${m}" } $row = range(1, 50).map |$x| { $k } $big = range(1, 100).map |$x| { $row } `
	half  = `$half = Integer[1, 21].reduce('"') |$m, $x| { "${m}${m}" } `
	again = `Integer[1, 1000000]`
)

// TestEndlessProgramsEnd checks that programs that take infinite time or memory
// end soon, with an error of one of a few kinds.
func TestEndlessProgramsEnd(t *testing.T) {
	const memory = 64 << 20
	for name, c := range map[string]struct{ src, kind string }{
		// Retained memory.
		"ranges":           {again + `.map |$x| { range(1, 1000) }`, "too-large"},
		"texts":            {longText + again + `.map |$x| { "${s}${x}" }`, "too-large"},
		"arrays on a way":  {`function f($n) { $a = range(1, 100000) f($n + 1) + $a } f(0)`, "too-large"},
		"hashes":           {again + `.map |$x| { Hash(range(1, 200)) }`, "too-large"},
		"parts":            {`$s = Integer[1, 10].reduce('a,') |$m, $x| { "${m}${m}" } ` + again + `.map |$x| { $s.split(',') }`, "too-long"},
		"objects":          {`type O = Object[{attributes => {a => Any}}] ` + again + `.map |$x| { O(range(1, 1000)) }`, "too-large"},
		"parsed":           {`$s = Integer[1, 14].reduce('[1],') |$m, $x| { "${m}${m}" } ` + again + `.map |$x| { parsejson("[${s}1]") }`, "too-large"},
		"slices":           {again + `.map |$x| { range(1, 20000).slice(1) }`, "too-large"},
		"bytes":            {longText + again + `.map |$x| { Binary($s, '%s') }`, "too-large"},
		"replaced":         {`$r = Integer[1, 12].reduce('x') |$m, $x| { "${m}${m}" } ` + again + `.reduce('x') |$m, $x| { regsubst($m, 'x', $r, 'G') }`, "too-large"},
		"text before":      {longText + `regsubst($s, 'x', '\\` + "`" + `', 'G')`, "too-large"},
		"many made":        {longText + `upcase(range(1, 100000).map |$x| { $s })`, "too-large"},
		"copies":           {`$a = range(1, 1000000) [*$a, *$a]`, "too-large"},
		"type of it":       {wide + `type($a)`, "too-large"},
		"converted":        {wide + `String($a)`, "too-large"},
		"kind of argument": {wide + `stdlib::start_with('x', $a)`, "type-mismatch"},
		"asserted":         {wide + `assert_type(Array[Array[String]], $a)`, "type-mismatch"},
		"word":             {large + `stdlib::shell_escape($big).length`, "too-large"},
		"word of half":     {half + `stdlib::batch_escape($half)`, "too-large"},
		"shell split":      {large + `shell_split($big)`, "too-large"},
		"no such pattern":  {large + `delete_regex(['a'], [$big])`, "too-large"},
		"seed":             {large + `fqdn_rand(10, $big)`, "too-large"},
		"limit":            {large + `fqdn_rand($big)`, "too-large"},
		"seed of rotation": {longText + `stdlib::fqdn_rand_string(2, '', range(1, 100).map |$x| { $s })`, "too-large"},
		"format":           {half + `sprintf('%s%s%s', $half, $half, $half)`, "too-large"},
		"format of arrays": {large + `sprintf('%s', $big)`, "too-large"},
		"quoted":           {half + `shellquote($half, $half, $half)`, "too-large"},
		"log":              {large + `notice($big)`, "too-large"},
		"failure":          {large + `fail($big)`, "too-large"},
		"largest":          {large + `max($big, $big)`, "too-large"},
		"toml":             {half + `stdlib::to_toml({a => [$half, $half, $half]})`, "too-large"},
		"keys":             {large + `stdlib::to_json({$big => 1})`, "too-large"},
		"new text":         {large + `String($big)`, "too-large"},
		// Time.
		"sum":            {again + `.reduce([]) |$m, $x| { $m + [$x] }`, "too-long"},
		"sum of hashes":  {again + `.reduce({}) |$m, $x| { $m + {$x => 1} }`, "too-long"},
		"equal":          {wider + again + `.each |$x| { $a == $b }`, "too-long"},
		"in":             {wider + again + `.each |$x| { $a in [1, $b] }`, "too-long"},
		"data":           {wider + again + `.each |$x| { $a =~ Data }`, "too-long"},
		"key":            {wider + again + `.each |$x| { {$a => 1, [1] => 2} }`, "too-long"},
		"case":           {wider + again + `.each |$x| { case $a { $b: { 1 } } }`, "too-long"},
		"parameter":      {wide + `function f(Array[Variant[Array, String]] $x) { 1 } ` + again + `.each |$x| { f($a.flatten) }`, "too-large"},
		"unique":         {longText + `unique(range(1, 500000).map |$x| { [$s] })`, "too-long"},
		"sorted":         {longText + `$t = "${s}x" $u = "${s}x" sort(range(1, 100000).map |$x| { if $x % 2 == 0 { $t } else { $u } })`, "too-long"},
		"versions":       {`$s = Integer[1, 18].reduce('1.') |$m, $x| { "${m}${m}" } ` + again + `.each |$x| { versioncmp($s, $s) }`, "too-long"},
		"sums of texts":  {longText + again + `.each |$x| { sha256($s) }`, "too-long"},
		"written":        {longText + again + `.each |$x| { stdlib::to_yaml([$s]) }`, "too-long"},
		"sets":           {`$a = range(1, 100000) ` + again + `.each |$x| { union($a, $a) }`, "too-long"},
		"types":          {`$a = range(1, 100000).map |$x| { {"k${x}" => $x} } ` + again + `.each |$x| { type($a, 'reduced') }`, "too-long"},
		"type of types":  {again + `.reduce(Integer) |$m, $x| { Variant[$m, Enum["a${x}"]] }`, "too-long"},
		"slice":          {`$a = range(1, 1000000) ` + again + `.each |$x| { $a[1, -1] }`, "too-long"},
		"slice of text":  {longText + again + `.each |$x| { $s[1, -1] }`, "too-long"},
		"within a text":  {longText + again + `.each |$x| { 'y' in $s }`, "too-long"},
		"interpolated":   {`$a = Integer[1, 18].reduce([1]) |$m, $x| { [$m, $m] } ` + again + `.each |$x| { "${a}" }`, "too-long"},
		"all replaced":   {longText + `regsubst($s, /((x+)+)\2y|x/, 'z', 'G')`, "too-long"},
		"looks far":      {longText + `regsubst($s[0, 50000], /(x.*y)?x/, 'z', 'G')`, "too-long"},
		"pattern":        {again + `.each |$x| { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" =~ /((a+)+)\2c/ }`, "regexp-limit"},
		"pattern type":   {`$a = range(1, 100000).map |$x| { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" } $a =~ Array[Pattern[/((a+)+)\2c|b/]]`, "regexp-limit"},
		"split":          {longText + `split($s, /((x+)+)\2y|x/)`, "too-long"},
		"slow but small": {again + `.each |$x| { "aaaaaaaaaaaaaaab" =~ /((a+)+)\2c/ }`, "too-long"},
	} {
		t.Run(name, func(t *testing.T) {
			env := testEnv(t, Options{})
			env.Limits = eval.Limits{Steps: 10_000, Memory: memory}
			if c.kind != "too-long" {
				env.Limits.Steps, env.Limits.Size = 20_000_000, 4<<20
			}
			p, err := syntax.Parse(syntax.NewFile("test.pp", c.src), syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err = eval.New(env).Run(t.Context(), p, nil)
			e, _ := errors.AsType[*eval.Error](err)
			if e == nil || e.Kind != c.kind {
				t.Errorf("got %v, want one of the kind %s", err, c.kind)
			}
			if d := time.Since(begin); d > 5*time.Minute {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestLargeProgramsWork checks that large but reasonable programs work.
func TestLargeProgramsWork(t *testing.T) {
	for _, src := range []string{
		`Integer[1, 3000].reduce([]) |$m, $x| { $m + [$x] }`,
		`Integer[1, 1500].reduce({}) |$m, $x| { $m + {"key ${x}" => {a => $x}} }`,
		`$a = range(1, 3000).map |$x| { {name => "n${x}", ids => [1, 2, 3]} } unique($a + $a).size`,
		`$s = Integer[1, 12].reduce("some words\n") |$m, $x| { "${m}${m}" } regsubst($s, '^(\w+) (?=w)', '\1-', 'G').size`,
		`$s = Integer[1, 12].reduce("a, b; ") |$m, $x| { "${m}${m}" } split($s, /\s*[,;]\s*/).size`,
		`range(1, 30000).map |$x| { "${x}" }.join(',').size`,
		// A lot of garbage.
		`Integer[1, 100].each |$x| { range(1, 10000) }`,
	} {
		env := testEnv(t, Options{})
		env.Limits = eval.Limits{Steps: 10_000_000, Memory: 192 << 20}
		p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eval.New(env).Run(t.Context(), p, nil); err != nil {
			t.Errorf("%s\n %v", src, err)
		}
	}
}

// TestMemoryLimitPerEvaluation checks that the memory of one evaluation does
// not count for the next one.
func TestMemoryLimitPerEvaluation(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // so that it is there for a while
	for range 2 {
		env := testEnv(t, Options{})
		env.Limits.Memory = 128 << 20
		many, err := syntax.Parse(syntax.NewFile("test.pp", again+`.map |$x| { range(1, 1000) }`), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eval.New(env).Run(t.Context(), many, nil); err == nil || eval.AsError(err).Kind != "too-large" {
			t.Fatalf("got %v", err)
		}
		few, err := syntax.Parse(syntax.NewFile("test.pp", `Integer[1, 100].each |$x| { range(1, 10000) }`), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eval.New(env).Run(t.Context(), few, nil); err != nil {
			t.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 1<<30 {
		t.Errorf("the heap has grown to %d MiB", m.HeapSys>>20)
	}
}

// TestMatchEndsWithContext checks that a long match ends when its context is
// done.
func TestMatchEndsWithContext(t *testing.T) {
	for name, src := range map[string]string{
		"replace": longText + `regsubst($s, /(?:(x+)+)?\1y|x/, 'z', 'G')`,
		"match":   longText + `Integer[1, 1000000].each |$i| { $s =~ /(x+)+\1y/ }`,
	} {
		env := testEnv(t, Options{})
		p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begin := time.Now()
		_, err = eval.New(env).Run(ctx, p, nil)
		cancel()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(begin); d > time.Minute {
			t.Errorf("%s: it took %v", name, d)
		}
	}
}
