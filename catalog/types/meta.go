package types

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/spelling"
)

// MetaParam is the metaparameter that Puppet does not have. Its value is a hash, so that its keys are never confused with
// parameters of types, such as the timeout of an exec. A type or a defined type with a parameter of this name keeps it.
const MetaParam = "meta"

// Meta are the metaparameters of mgmt: how the engine tries, limits and groups one resource. The zero Meta is for a resource
// without them.
//
// Source: mgmt's documentation, "Meta parameters", and its engine/metaparams.go.
type Meta struct {
	// Retry is the number of further attempts after a failure; -1 means without a limit. Delay is the pause before each.
	Retry int
	Delay time.Duration
	// Timeout ends an attempt, which then has failed, and the process groups of its programs; 0 for none.
	Timeout time.Duration
	// Semaphores are held during an attempt. They are sorted by ID, and each ID is there once.
	Semaphores []Semaphore
	// Hidden is set if the resource is in the graph, but is neither checked nor applied.
	Hidden bool
	// NoEdges is set if the resource depends on nothing because of its type, and NoGroup if it is not applied together with
	// others.
	NoEdges, NoGroup bool

	// The rest has an effect only while resources are watched. Poll is the pause between two checks of the resource, in place of its
	// events. 0 waits for events; if Poll is negative, the resource is checked only once. Limit is the number of events in a second, of
	// which Burst can come at once; 0 means without a limit.
	Poll  time.Duration
	Limit float64
	Burst int
}

// A Semaphore can be held by Count resources at a time. Its ID contains the count if the user has given it: "lock" and "lock:1" are two.
type Semaphore struct {
	ID    string
	Count int
}

// A metaKey is a key of Meta: it reads a value. The error is a problem, such as "must be true or false".
type metaKey struct {
	name string
	set  func(m *Meta, v any) (problem string)
}

var metaKeys = []metaKey{
	{"retry", func(m *Meta, v any) string { return whole(v, -1, math.MaxInt16, func(n int64) { m.Retry = int(n) }) }},
	{"delay", func(m *Meta, v any) string { return whole(v, 0, maxMillis, func(n int64) { m.Delay = millis(n) }) }},
	{"timeout", func(m *Meta, v any) string { return whole(v, 0, maxMillis, func(n int64) { m.Timeout = millis(n) }) }},
	{"poll", func(m *Meta, v any) string {
		return whole(v, -1, math.MaxInt32, func(n int64) { m.Poll = time.Duration(n) * time.Second })
	}},
	{"limit", (*Meta).limit},
	{"burst", func(m *Meta, v any) string { return whole(v, 0, math.MaxInt32, func(n int64) { m.Burst = int(n) }) }},
	{"sema", (*Meta).sema},
	{"hidden", func(m *Meta, v any) string { return truth(v, func(b bool) { m.Hidden = b }) }},
	{"autoedge", func(m *Meta, v any) string { return truth(v, func(b bool) { m.NoEdges = !b }) }},
	{"autogroup", func(m *Meta, v any) string { return truth(v, func(b bool) { m.NoGroup = !b }) }},
}

// MetaKeys returns the keys of Meta.
func MetaKeys() []string {
	names := make([]string, len(metaKeys))
	for i, k := range metaKeys {
		names[i] = k.name
	}
	return names
}

// absent are metaparameters of mgmt and of Puppet that Meta does not have, with the reason.
var absent = map[string]string{
	"noop":       "noop is a parameter of the resource",
	"retryreset": "each run starts its count of attempts at 0",
	"reset":      "each run starts its count of attempts at 0",
	"rewatch":    "bolt always watches a changed resource again",
	"realize":    "bolt applies every resource before it watches",
	"async":      "bolt has no resources that go on in the background",
	"dollar":     "names can begin with a dollar sign",
	"export":     "write @@ before the name to export the resource",
	"reverse":    "bolt does not undo a resource that was removed from the graph",
}

// maxMillis is ten years, which fit into a time.Duration.
const maxMillis = 10 * 365 * 24 * 60 * 60 * 1000

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func whole(v any, low, high int64, set func(int64)) string {
	n, is := v.(int64)
	if !is || n < low || n > high {
		return fmt.Sprintf("must be an integer from %d to %d", low, high)
	}
	set(n)
	return ""
}

func truth(v any, set func(bool)) string {
	b, is := v.(bool)
	if !is {
		return "must be true or false"
	}
	set(b)
	return ""
}

func (m *Meta) limit(v any) string {
	switch n := v.(type) {
	case int64:
		m.Limit = float64(n)
	case float64:
		m.Limit = n
	}
	if !(m.Limit > 0) || math.IsInf(m.Limit, 0) { // not a number, too
		m.Limit = 0
		return "must be a number of events in a second, above 0"
	}
	return ""
}

func (m *Meta) sema(v any) string {
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, v := range list {
		text, is := v.(string)
		s, problem := semaphore(text)
		if !is {
			problem = "must be a list of strings"
		}
		if problem != "" {
			return problem
		}
		if slices.ContainsFunc(m.Semaphores, func(o Semaphore) bool { return o.ID == s.ID }) {
			return fmt.Sprintf("has the semaphore %q twice", s.ID)
		}
		m.Semaphores = append(m.Semaphores, s)
	}
	slices.SortFunc(m.Semaphores, func(a, b Semaphore) int { return strings.Compare(a.ID, b.ID) })
	return ""
}

// maxCount is the largest count of a semaphore.
const maxCount = math.MaxInt32

// semaphore reads NAME or NAME:COUNT. Colons in NAME are possible.
func semaphore(text string) (s Semaphore, problem string) {
	name, count := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		name, count = text[:i], text[i+1:]
	}
	if name == "" {
		return s, fmt.Sprintf("has the semaphore %q without a name", text)
	}
	if _, err := strconv.Atoi(text); err == nil {
		return s, fmt.Sprintf("has the number %s where a semaphore must have a name", text)
	}
	if count == "" || strings.Trim(count, "0123456789") != "" {
		return Semaphore{text, 1}, "" // the colon is a part of the name
	}
	n, err := strconv.ParseUint(count, 10, 31)
	if err != nil || n == 0 || n > maxCount {
		return s, fmt.Sprintf("has the semaphore %q, whose count must be from 1 to %d", text, maxCount)
	}
	return Semaphore{text, int(n)}, ""
}

// Global returns the semaphore that all resources of a run hold, as mgmt names it.
func Global(count int) Semaphore { return Semaphore{":" + strconv.Itoa(count), count} }

// A MetaProblem is a wrong key or value in a meta. Key is "" for a problem of several keys or of the whole.
type MetaProblem struct{ Key, Problem string }

// MetaOf reads the value of the metaparameter. The problems are in the order of the keys.
func MetaOf(v any) (m Meta, problems []MetaProblem) {
	given, is := v.(*ordered.Map)
	if !is {
		return m, []MetaProblem{{"", "must be a hash with the keys " + strings.Join(MetaKeys(), ", ")}}
	}
	for name, v := range given.All() {
		i := slices.IndexFunc(metaKeys, func(k metaKey) bool { return k.name == name })
		if i < 0 {
			problems = append(problems, MetaProblem{name, unknownKey(name)})
		} else if problem := metaKeys[i].set(&m, v); problem != "" {
			problems = append(problems, MetaProblem{name, problem})
		}
	}
	switch {
	case problems != nil:
	case m.Limit > 0 && m.Burst == 0:
		problems = append(problems, MetaProblem{"", "lets no event pass: a limit needs a burst of 1 or more"})
	case m.Limit == 0 && m.Burst > 0:
		problems = append(problems, MetaProblem{"", "has a burst without a limit"})
	}
	return m, problems
}

func unknownKey(name string) string {
	if why := absent[name]; why != "" {
		return "is unknown: " + why
	}
	if near := spelling.Near(name, MetaKeys()); near != "" {
		return fmt.Sprintf("is unknown. Did you mean %s?", near)
	}
	return "is unknown: the known keys are " + strings.Join(MetaKeys(), ", ")
}

// HasMeta reports whether a resource has the metaparameter. A container, or a type that has a parameter of this name itself, does not.
func HasMeta(r *catalog.Resource) bool {
	_, given := r.Params.Get(MetaParam)
	t := Find(strings.ToLower(r.Type))
	return given && !r.Container() && (t == nil || !t.own(MetaParam))
}

// own reports whether the type itself has a parameter.
func (t *Type) own(param string) bool {
	return slices.Contains(t.Properties, param) || slices.Contains(t.Params, param)
}

// checkMeta returns the errors of the metaparameter of a resource.
func checkMeta(r *catalog.Resource) (errs []*ValueError) {
	if !HasMeta(r) {
		return nil
	}
	_, problems := MetaOf(r.Params.Value(MetaParam))
	for _, p := range problems {
		text := p.Problem
		if p.Key != "" {
			text = "is wrong: its key " + p.Key + " " + text
		}
		errs = append(errs, &ValueError{r, MetaParam, text})
	}
	return errs
}

// autoedge reports whether a resource depends on others because of its type.
func autoedge(r *catalog.Resource) bool {
	if !HasMeta(r) {
		return true
	}
	m, _ := MetaOf(r.Params.Value(MetaParam))
	return !m.NoEdges
}
