package builtin

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"bolt/environment"
	"bolt/modules"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// words are what plans find in the program that runs them, as far as the tests
// below need it, in the language itself. Tasks and commands succeed, but on the
// target "bad", and the target "stuck" does not reboot.
const words = `
type Target = Object[{ attributes => { name => String } }]
type Result = Object[{ attributes => { target => Target, value => Hash } }]
type ResultSet = Object[{ attributes => { results => Array } }]
type TargetSpec = Any

function get_targets($names) { $names.map |$n| { Target.new($n) } }
function get_target($t) { $t }
function ok($r) {
  if $r =~ Result { $r.value['_error'] =~ Undef } else { $r.results.all |$x| { ok($x) } }
}
function error_set($s) { ResultSet.new($s.results.filter |$r| { !ok($r) }) }
function count($s) { $s.results.length }
function targets($s) { $s.results.map |$r| { $r.target } }
function find($s, $name) { $s.results.filter |$r| { $r.target.name == $name }[0] }
function run_task($task, $targets, $params = {}) {
  ResultSet.new($targets.map |$t| { Result.new($t, answer($task, $t.name, $params)) })
}
function run_command($command, $targets, $params) { run_task($command, $targets, $params) }
function answer($task, $name, $params) {
  if $name == 'bad' {
    { '_error' => { 'kind' => 'x', 'msg' => 'no' } }
  } elsif $task == 'reboot::last_boot_time' {
    { '_output' => if '_catch_errors' in $params and $name != 'stuck' { 'after' } else { 'before' } }
  } else {
    { 'ran' => $task, 'name' => $name, 'params' => $params }
  }
}
function fail_plan($message, $kind, $details = {}) {
  fail("${kind}: ${message}")
}
function without_default_logging($block) { $block }
function wait_until_available($targets, $options) { undef }
function data($set) {
  $set.results.map |$r| { [$r.target.name, $r.value] }
}
`

// evaluate runs plans and functions of the modules as functions, beside words,
// and returns what an expression then is, as text.
func evaluate(t *testing.T, expression string, names ...string) (string, error) {
	t.Helper()
	text := words
	for _, name := range names {
		file, err := fs.ReadFile(Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		text += planHead.ReplaceAllString(string(file), "function run_$1 (")
	}
	// What waits and prints is not run, and a block without arguments is its value.
	text = strings.NewReplacer("ctrl::sleep(", "type(", "out::message(", "type(", "without_default_logging() || {", "without_default_logging(with() || {").Replace(text)
	text = blockEnd.ReplaceAllString(text, "$1  })\n")
	program, err := syntax.Parse(syntax.NewFile("plans.pp", text+expression), syntax.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	x := environment.New(environment.Options{Modules: modules.NewPath(modules.Module{}), Now: time.Now}).Evaluation(environment.Node{})
	v, err := x.Run(t.Context(), program)
	if err != nil {
		return "", err
	}
	return value.Inspect(v), nil
}

var (
	planHead = regexp.MustCompile(`(?m)^plan ([a-z_]+) \(`)
	// blockEnd is the end of a block of without_default_logging in a plan.
	blockEnd = regexp.MustCompile(`(?s)(without_default_logging\(with\(\) \|\| \{\n.*?\n)  \}\n`)
)

var aggregateFunctions = []string{
	"aggregate/functions/targets.pp", "aggregate/functions/nodes.pp", "aggregate/functions/count.pp",
	"aggregate/functions/text.pp", "aggregate/functions/literal.pp",
}

// TestAggregate: values are counted, and told apart as Ruby writes them; keys
// that differ in case alone are two.
func TestAggregate(t *testing.T) {
	const set = `
$set = ResultSet.new([
  Result.new(Target.new('a'), { 'os' => 'x', 'n' => 1, 'N' => undef }),
  Result.new(Target.new('b'), { 'os' => 'x', 'n' => '1', 'list' => [1, undef, "q\"", { 'k' => true }] }),
  Result.new(Target.new('c'), { 'os' => 'y' }),
])
`
	for expression, want := range map[string]string{
		"aggregate::count($set)":                `{'os' => {'x' => 2, 'y' => 1}, 'n' => {'1' => 2}, 'N' => {'' => 1}, 'list' => {'[1, nil, "q\"", {"k"=>true}]' => 1}}`,
		"aggregate::targets($set)":              `{'os' => {'x' => ['a', 'b'], 'y' => ['c']}, 'n' => {'1' => ['a', 'b']}, 'N' => {'' => ['a']}, 'list' => {'[1, nil, "q\"", {"k"=>true}]' => ['b']}}`,
		"aggregate::nodes($set)['os']":          `{'x' => ['a', 'b'], 'y' => ['c']}`,
		"aggregate::count(ResultSet.new([]))":   `{}`,
		"aggregate::targets(ResultSet.new([]))": `{}`,
	} {
		if got, err := evaluate(t, set+expression, aggregateFunctions...); err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", expression, got, err, want)
		}
	}
}

var canaryFiles = []string{"canary/plans/init.pp", "canary/functions/random_split.pp", "canary/functions/skip.pp", "canary/functions/merge.pp"}

// TestCanary: the others have their turn when the canaries succeed.
func TestCanary(t *testing.T) {
	for _, tt := range []struct{ expression, want, fails string }{
		// All of one kind, so that chance does not matter.
		{`data(run_canary(['a'], 'task', undef, undef, { 'p' => 1 }))`, `[['a', {'ran' => 'task', 'name' => 'a', 'params' => {'p' => 1, '_catch_errors' => true}}]]`, ""},
		{`data(run_canary(['a', 'b', 'c'], undef, 'id')).map |$r| { $r[0] }.sort`, `['a', 'b', 'c']`, ""},
		{`data(run_canary(['a', 'b', 'c'], undef, 'id', undef, {}, 9)).length`, `3`, ""},
		{`data(run_canary([], undef, 'id'))`, `[]`, ""},
		{`run_canary(['bad'], 'task')`, "", "bolt/run-failure: Failed on 1 of 1 canaries. 0 targets were skipped."},
		{`run_canary(['bad', 'bad', 'bad'], 'task', undef, undef, {}, 2)`, "", "bolt/run-failure: Failed on 2 of 2 canaries. 1 targets were skipped."},
		{`run_canary(['a'])`, "", "canary/invalid-params"},
		{`run_canary(['a'], 'task', 'command')`, "", "canary/invalid-params"},
		{`data(canary::skip([Target.new('a')]))`, `[['a', {'_error' => {'kind' => 'canary/skipped-target', 'msg' => 'Skipped a because of a previous failure', 'details' => {}}}]]`, ""},
		// The parts of a split are the whole, whatever chance takes: equal elements, too.
		{`range(0, 4).map |$n| { canary::random_split([1, 1, 2, 3], $n).flatten.sort }.unique`, `[[1, 1, 2, 3]]`, ""},
		{`range(0, 6).map |$n| { canary::random_split([1, 1, 2, 3], $n)[0].length }`, `[0, 1, 2, 3, 4, 4, 4]`, ""},
		{`range(1, 200).map |$n| { canary::random_split([1, 2], 1)[0][0] }.unique.sort`, `[1, 2]`, ""},
	} {
		got, err := evaluate(t, tt.expression, canaryFiles...)
		switch {
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s\ngot %s, %v\nwant an error with %s", tt.expression, got, err, tt.fails)
		case tt.fails == "" && (err != nil || got != tt.want):
			t.Errorf("%s\ngot  %s, %v\nwant %s", tt.expression, got, err, tt.want)
		}
	}
}

// TestRebootPlan: a target is back when its boot time is another.
func TestRebootPlan(t *testing.T) {
	for _, tt := range []struct{ expression, want, fails string }{
		{`data(run_reboot(['a', 'b'], undef, 1, 0, 2, 0))`, `[['a', {'_output' => 'rebooted'}], ['b', {'_output' => 'rebooted'}]]`, ""},
		{`data(run_reboot([]))`, `[]`, ""},
		{`data(run_reboot(['a', 'stuck'], 'now', 1, 0, 2, 0, false)).map |$r| { [$r[0], $r[1]['_output'], get($r[1], '_error.kind')] }`, `[['a', 'rebooted', undef], ['stuck', 'failed to reboot', 'bolt/reboot-timeout']]`, ""},
		{`run_reboot(['stuck', 'a'], undef, 1, 0, 2, 0)`, "", "bolt/reboot-failed: 1 of 2 targets were not back within 2 seconds"},
		{`run_reboot(['stuck'], undef, 1, 0, 0, 0)`, "", "bolt/reboot-failed: 1 of 1 targets"},
	} {
		got, err := evaluate(t, tt.expression, "reboot/plans/init.pp")
		switch {
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s\ngot %s, %v\nwant an error with %s", tt.expression, got, err, tt.fails)
		case tt.fails == "" && (err != nil || got != tt.want):
			t.Errorf("%s\ngot  %s, %v\nwant %s", tt.expression, got, err, tt.want)
		}
	}
}
