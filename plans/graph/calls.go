package graph

import (
	"slices"
	"strings"
)

// doUntil is the loop whose body runs at least once.
const doUntil = "ctrl::do_until"

// A signature contains the indexes of a function's arguments by their meaning, -1
// for none.
type signature struct {
	kind    Kind
	object  []int
	targets int
}

// signatures are the functions whose nodes have no body.
var signatures = map[string]signature{
	"run_command":          {Step, []int{0}, 1},
	"run_script":           {Step, []int{0}, 1},
	"run_task":             {Step, []int{0}, 1},
	"run_task_with":        {Step, []int{0}, 1},
	"run_plan":             {Step, []int{0}, 1},
	"run_container":        {Step, []int{0}, -1},
	"upload_file":          {Step, []int{0, 1}, 2},
	"download_file":        {Step, []int{0, 1}, 2},
	"write_file":           {Step, []int{1}, 2},
	"wait_until_available": {Step, nil, 0},
	"apply_prep":           {Step, nil, 0},
	"get_resources":        {Step, []int{1}, 0},
	"puppetdb_query":       {Step, []int{0}, -1},
	"puppetdb_fact":        {Step, []int{0}, -1},
	"puppetdb_command":     {Step, []int{0}, -1},
	"prompt":               {Say, []int{0}, -1},
	"prompt::menu":         {Say, []int{0}, -1},
	"out::message":         {Say, []int{0}, -1},
	"out::verbose":         {Say, []int{0}, -1},
	"ctrl::sleep":          {Say, []int{0}, -1},
	"wait":                 {Say, []int{0}, -1},
	"return":               {Return, []int{0}, -1},
	"fail_plan":            {Fail, []int{0}, -1},
	"next":                 {Jump, []int{0}, -1},
	"break":                {Jump, nil, -1},
}

// signatureOf returns the signature of a called function if its call is a node. A
// function of a module may do anything, and so may the function that "call" calls.
// If such a call has a block, it is a frame instead.
func signatureOf(c call) (s signature, is bool) {
	if s, is = signatures[c.name]; is {
		return s, true
	}
	module, _, qualified := strings.Cut(c.name, "::")
	return signature{Step, nil, -1}, c.lambda == nil && (c.name == "call" || qualified && !slices.Contains(harmless, module))
}

// harmless are the namespaces of functions that do not act on machines.
var harmless = []string{"ctrl", "dir", "file", "log", "out", "prompt", "stdlib", "system"}

// frames are the functions whose block is not simply called once.
var frames = map[string]Kind{
	"parallelize": Parallel, "background": Aside, "catch_errors": Catch,
	doUntil: Loop, "each": Loop, "map": Loop, "filter": Loop, "reduce": Loop, "slice": Loop, "reverse_each": Loop,
	"step": Loop, "times": Loop, "all": Loop, "any": Loop, "index": Loop, "partition": Loop, "group_by": Loop,
	"tree_each": Loop, "sort": Loop, "unique": Loop, "run_task_with": Loop,
}
