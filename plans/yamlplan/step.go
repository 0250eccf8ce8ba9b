package yamlplan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
)

// A kind is a kind of steps: its keys and its function.
type kind struct {
	name     string   // the key that determines the kind
	function string   // the function that it calls, or ""
	args     []string // required keys, in the order of the function's arguments
	options  []string // keys that become options of the function
	more     []string // other keys
}

// commonKeys are the keys of all steps.
var commonKeys = []string{"name", "description", "targets"}

// rollOptions are additions to Puppet Bolt, for all steps that run on targets.
var rollOptions = []string{"timeout", "concurrency", "serial", "max_failures", "pause"}

// kinds are in the order in which messages name them.
var kinds = []*kind{
	{name: "command", function: "run_command", args: []string{"command", "targets"}, options: rolling("catch_errors", "env_vars", "run_as")},
	{name: "download", function: "download_file", args: []string{"download", "destination", "targets"}, options: rolling("catch_errors", "run_as")},
	{name: "eval", args: []string{"eval"}},
	{name: "message", function: "out::message", args: []string{"message"}},
	{name: "verbose", function: "out::verbose", args: []string{"verbose"}},
	{name: "plan", function: "run_plan", args: []string{"plan"}, options: []string{"catch_errors", "run_as"}, more: []string{"parameters"}},
	{name: "resources", function: "apply", args: []string{"resources", "targets"}, options: []string{"catch_errors", "description", "noop", "run_as"}},
	{name: "script", function: "run_script", args: []string{"script", "targets"}, options: rolling("catch_errors", "env_vars", "run_as"), more: []string{"arguments", "pwsh_params"}},
	{name: "task", function: "run_task", args: []string{"task", "targets"}, options: rolling("catch_errors", "noop", "run_as"), more: []string{"parameters"}},
	{name: "upload", function: "upload_file", args: []string{"upload", "destination", "targets"}, options: rolling("catch_errors", "run_as")},
}

func rolling(options ...string) []string { return append(options, rollOptions...) }

// A step is a step of a plan.
type step struct {
	fields
	kind      *kind
	number    int
	name      string
	node      *yaml.Node
	resources []resource
}

// A resource is a declaration in a step of the kind resources.
type resource struct {
	node        *yaml.Node
	kind, title *yaml.Node
	shorthand   bool       // kind is a key, not a value
	attributes  *yaml.Node // or nil
}

var typeName = lazyregexp.New(`^(?:::)?[A-Za-z]\w*(?:::[A-Za-z]\w*)*$`)

// bare returns the type as it can be written before a declaration; "" if it must
// be evaluated.
func (r resource) bare() string {
	if !r.shorthand && isCode(r.kind) || !typeName().MatchString(r.kind.Text) {
		return ""
	}
	return strings.ToLower(r.kind.Text)
}

// step reads a step; number is its number in the plan.
func (r *reader) step(n *yaml.Node, number int) {
	if n.Style != yaml.Mapping {
		r.wrong(n.Line, "Parse error in step number %d: Plan step must be an object with valid step keys.", number)
		return
	}
	s := &step{fields: fieldsOf(n), number: number, node: n}
	if name := s.values["name"]; name != nil {
		s.name, _ = name.Value.(string)
	}
	var actions []string
	for _, k := range kinds {
		if s.values[k.name] != nil {
			actions = append(actions, k.name)
			s.kind = k
		}
	}
	switch len(actions) {
	case 0:
		r.wrongStep(s, n.Line, "No valid action detected")
	case 1:
		r.body(s)
	default:
		r.wrongStep(s, n.Line, "Multiple action keys detected: %s", quoted(actions))
	}
	r.plan.steps = append(r.plan.steps, s)
}

func (r *reader) wrongStep(s *step, line int, format string, args ...any) {
	r.add(inStep(s, problem{kind: kindInvalid, line: line, msg: fmt.Sprintf(format, args...)}))
}

// inStep adds the step of a problem to its message, with Bolt's words and
// spaces.
func inStep(s *step, p problem) problem {
	which := "number " + strconv.Itoa(s.number)
	if n := s.values["name"]; n != nil && !isNull(n) {
		which = inspect(n)
	}
	p.msg = fmt.Sprintf("Parse error in step %s: \n %s", which, p.msg)
	return p
}

// body checks a step with a known kind.
func (r *reader) body(s *step) {
	k := s.kind
	if keys := s.beyond(slices.Concat(k.args, k.options, k.more, commonKeys)); len(keys) > 0 {
		r.wrongStep(s, s.keys[keys[0]].Line, "The %q step does not support: %s key(s)", k.name, quoted(keys))
	}
	var missing []string
	for _, key := range k.args {
		if s.values[key] == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		r.wrongStep(s, s.node.Line, "The %q step requires: %s key(s)", k.name, quoted(missing))
	}
	r.collections(s)
	for _, key := range s.names {
		if key == "name" {
			continue
		}
		for _, p := range r.plan.badCode(key, s.values[key]) {
			r.add(inStep(s, p))
		}
	}
	r.parametersOf(s)
	r.nameOf(s)
	if n := s.values["resources"]; n != nil && k.name == "resources" {
		r.resources(s, n)
	}
}

// collections checks keys whose values must be collections.
func (r *reader) collections(s *step) {
	if s.kind.name == "script" {
		if n := s.values["arguments"]; n != nil && !isNull(n) && n.Style != yaml.List {
			r.wrongStep(s, n.Line, "arguments key must be an array")
		}
		if n := s.values["pwsh_params"]; n != nil && !isNull(n) && n.Style != yaml.Mapping {
			r.wrongStep(s, n.Line, "pwsh_params key must be a hash")
		}
	}
	if n := s.values["env_vars"]; n != nil && slices.Contains(s.kind.options, "env_vars") && n.Style != yaml.Mapping && !isCode(n) {
		r.wrongStep(s, n.Line, "env_vars key must be a hash or evaluable string")
	}
}

func (r *reader) parametersOf(s *step) {
	n := s.values["parameters"]
	if n == nil || !slices.Contains(s.kind.more, "parameters") {
		return
	}
	if n.Style != yaml.Mapping {
		r.wrongStep(s, n.Line, "Parameters key must be a hash")
		return
	}
	given := fieldsOf(n)
	var twice []string
	for _, key := range s.names {
		if given.keys["_"+key] != nil {
			twice = append(twice, key)
		}
	}
	if len(twice) > 0 {
		r.wrongStep(s, given.keys["_"+twice[0]].Line, "Cannot specify metaparameters when using top-level keys with same name: %s", strings.Join(twice, ", "))
	}
}

func (r *reader) nameOf(s *step) {
	n := s.values["name"]
	if n == nil {
		return
	}
	switch {
	case !varName().MatchString(s.name):
		r.add(inStep(s, problem{kind: kindInvalid, line: n.Line, msg: "Invalid step name: " + inspect(n), hint: nameRule}))
	case r.used[s.name]:
		r.wrongStep(s, n.Line, "Duplicate step name or parameter detected: %q", s.name)
	}
	r.used[s.name] = true
}

func (r *reader) resources(s *step, n *yaml.Node) {
	if n.Style != yaml.List {
		r.wrongStep(s, n.Line, "resources key must be an array")
		return
	}
	for _, item := range n.Items {
		if item.Style != yaml.Mapping {
			r.wrongStep(s, item.Line, "Resource declaration must be a hash")
			continue
		}
		r.resource(s, item)
	}
}

func (r *reader) resource(s *step, item *yaml.Node) {
	f := fieldsOf(item)
	res := resource{node: item, kind: f.values["type"], title: f.values["title"], attributes: f.values["parameters"]}
	hasType, hasTitle := res.kind != nil && !isNull(res.kind), res.title != nil && !isNull(res.title)
	switch keys := f.beyond([]string{"parameters"}); {
	case hasTitle && !hasType:
		r.wrongStep(s, item.Line, "Resource declaration must include type key if title key is set")
		return
	case hasType && !hasTitle:
		r.wrongStep(s, item.Line, "Resource declaration must include title key if type key is set")
		return
	case hasType: // other keys are ignored, as Bolt does
	case len(keys) == 0:
		r.wrongStep(s, item.Line, "Resource declaration is missing a type")
		return
	case len(keys) > 1:
		r.wrongStep(s, item.Line, "Resource declaration has ambiguous type: could be %s", strings.Join(keys, " or "))
		return
	default:
		res.kind, res.title, res.shorthand = f.keys[keys[0]], f.values[keys[0]], true
	}
	if res.bare() == "" && (res.shorthand || !isCode(res.kind)) {
		r.wrongStep(s, res.kind.Line, "%s is not a valid name of a resource type", inspect(res.kind))
	}
	if isNull(res.title) {
		r.wrongStep(s, res.title.Line, "Resource declaration must have a title behind its type")
	}
	if res.attributes != nil && isNull(res.attributes) {
		res.attributes = nil
	}
	if res.attributes != nil && res.attributes.Style != yaml.Mapping {
		r.wrongStep(s, res.attributes.Line, "Parameters key must be a hash")
	}
	s.resources = append(s.resources, res)
}
