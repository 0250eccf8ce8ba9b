package factcache

import (
	"fmt"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// A Path names a fact or a part of a fact: "os.release.full",
// "processors.models[0]", `mountpoints."/srv/data".size`. A name can also be in
// brackets: `mountpoints["/srv/data"]`.
type Path struct {
	text  string
	steps []any // string or int; the first is a string
}

// ParsePath reads a path.
func ParsePath(text string) (Path, error) {
	p := Path{text: text}
	wrong := func(rest, what string) (Path, error) {
		return Path{}, fmt.Errorf("%s at character %d of %q", what, len(text)-len(rest)+1, text)
	}
	for rest := text; ; {
		bracket := false
		switch {
		case rest == text:
		case rest == "":
			return p, nil
		case rest[0] == '.':
			rest = rest[1:]
		case strings.HasPrefix(rest, `["`), strings.HasPrefix(rest, "['"):
			bracket, rest = true, rest[1:]
		case rest[0] == '[':
			inside, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(inside)
			if !ok || err != nil || n < 0 {
				return wrong(rest, "expected a place in a list, as [0],")
			}
			p.steps, rest = append(p.steps, n), after
			continue
		default:
			return wrong(rest, `expected "." or "["`)
		}
		switch {
		case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, "'"):
			name, after, ok := strings.Cut(rest[1:], rest[:1])
			if !ok {
				return wrong(rest, "expected the end of the quotes that begin")
			}
			p.steps, rest = append(p.steps, name), after
			if bracket {
				if !strings.HasPrefix(rest, "]") {
					return wrong(rest, `expected "]"`)
				}
				rest = rest[1:]
			}
		default:
			n := strings.IndexAny(rest, `.[]"'`)
			if n < 0 {
				n = len(rest)
			}
			if n == 0 {
				return wrong(rest, "expected the name of a fact")
			}
			p.steps, rest = append(p.steps, rest[:n]), rest[n:]
		}
	}
}

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// Fact returns the name of the path's top-level fact.
func (p Path) Fact() string { return p.steps[0].(string) }

// In returns the value at the path, or nil if it does not exist.
func (p Path) In(facts *ordered.Map) any {
	var v any = facts
	for _, step := range p.steps {
		switch at := v.(type) {
		case *ordered.Map:
			key, ok := step.(string)
			if !ok {
				return nil
			}
			v = at.Value(key)
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
