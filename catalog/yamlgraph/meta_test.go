package yamlgraph

import (
	"strings"
	"testing"
)

// TestMeta checks the metaparameters of mgmt's examples (examples/yaml: exec3-sema, limit1, retry1, poll1, autogroup1), with kinds and
// parameters of Puppet.
func TestMeta(t *testing.T) {
	for _, tt := range []struct{ name, kind, meta, want string }{
		{"exec3-sema", "exec", "{sema: ['mylock:1', 'otherlock:42']}", "exec { 'x': meta => { 'sema' => ['mylock:1', 'otherlock:42'] } }"},
		{"limit1", "file", "{limit: 0.2, burst: 5}", "file { 'x': meta => { 'limit' => 0.2, 'burst' => 5 } }"},
		{"retry1", "file", "\n      retry: 3\n      delay: 5000", "file { 'x': meta => { 'retry' => 3, 'delay' => 5000 } }"},
		{"poll1", "file", "{poll: 5}", "file { 'x': meta => { 'poll' => 5 } }"},
		{"autogroup1", "package", "{autogroup: false}", "package { 'x': meta => { 'autogroup' => false } }"},
		{"noop is a parameter", "file", "{noop: true, hidden: true}", "file { 'x': noop => true, meta => { 'hidden' => true } }"},
		{"nothing", "file", "{}", "file { 'x': }"},
		{"a parameter of a type of a module", "web::vhost", "{strange: {deep: 1}}", "web::vhost { 'x': meta => { 'strange' => { 'deep' => 1 } } }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse("g.yaml", "graph: g\nresources:\n  "+tt.kind+":\n  - name: x\n    meta: "+tt.meta+"\n")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := printed(t, p), printed(t, manifest(t, tt.want)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestMetaErrors checks the messages, and that each is at its key.
func TestMetaErrors(t *testing.T) {
	for _, tt := range []struct{ meta, want string }{
		{"[retry]", "4:36: meta of a resource of the kind file must be a mapping"},
		{"{retrys: 3}", "4:37: retrys of meta is unknown. Did you mean retry?"},
		{"{frobnicate: 3}", "4:37: frobnicate of meta is unknown: the known keys are retry, delay, timeout, poll, limit, burst, sema, hidden, autoedge, autogroup"},
		{"{retryreset: true}", "4:37: retryreset of meta is unknown: each run starts its count of attempts at 0"},
		{"{export: ['*']}", "4:37: export of meta is unknown: write @@ before the name"},
		{"{poll: 1, retry: -2}", "4:46: retry of meta must be an integer from -1 to 32767"},
		{"{retry: '3'}", "retry of meta must be an integer"},
		{"{delay: 1.5}", "delay of meta must be an integer from 0 to"},
		{"{timeout: -1}", "timeout of meta must be an integer from 0 to"},
		{"{hidden: 1}", "hidden of meta must be true or false"},
		{"{noop: 1}", "4:43: noop of meta must be true or false"},
		{"{limit: 0.2}", "4:30: meta lets no event pass: a limit needs a burst of 1 or more"},
		{"{limit: 0, burst: 1}", "4:37: limit of meta must be a number of events in a second, above 0"},
		{"{limit: .nan, burst: 1}", "limit of meta must be a number"},
		{"{burst: 1}", "4:30: meta has a burst without a limit"},
		{"{sema: [a, 'a']}", `4:37: sema of meta has the semaphore "a" twice`},
		{"{sema: ['']}", `sema of meta has the semaphore "" without a name`},
		{"{sema: [':4']}", `sema of meta has the semaphore ":4" without a name`},
		{"{sema: ['7']}", "sema of meta has the number 7 where a semaphore must have a name"},
		{"{sema: [7]}", "sema of meta must be a list of strings"},
		{"{sema: ['a:0']}", `sema of meta has the semaphore "a:0", whose count must be from 1 to`},
		{"{sema: ['a:99999999999']}", `whose count must be from 1 to`},
		{"{sema: {a: 1}}", "sema of meta must be a list of strings"},
		{"{retry: 1, retry: 2}", "4:47: meta has the key retry twice"},
		{"{noop: true}, noop: true", "has the key noop twice"},
	} {
		_, err := Parse("g.yaml", "graph: g\nresources:\n  file:\n  - {name: /x, mode: '0644', meta: "+tt.meta+"}\n")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.meta, err, tt.want)
		}
	}
}
