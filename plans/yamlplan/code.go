package yamlplan

import (
	"strings"

	"bolt/format/yaml"
)

// InCode reports whether a position in the file is in code of a step or of the result,
// and returns its line in that code. The position of a step's own action is the line of
// the key that names the action. A column of 0 is unknown.
func (p *Plan) InCode(line, column int) (codeLine int, ok bool) {
	if column == 0 && p.actsAt(line) {
		return 0, false
	}
	for _, s := range p.steps {
		for _, n := range s.values {
			if codeLine, ok = inCode(n, line, column); ok {
				return codeLine, true
			}
		}
	}
	return inCode(p.result, line, column)
}

// actsAt reports whether the key of a step's action is at a line. A step that only
// evaluates code has no action.
func (p *Plan) actsAt(line int) bool {
	for _, s := range p.steps {
		if key := s.keys[s.kind.name]; key != nil && key.Line == line {
			return s.kind.name != "eval"
		}
	}
	return false
}

func inCode(n *yaml.Node, line, column int) (codeLine int, ok bool) {
	if n == nil {
		return 0, false
	}
	for _, item := range n.Items {
		if codeLine, ok = inCode(item, line, column); ok {
			return codeLine, true
		}
	}
	for _, pair := range n.Pairs {
		if codeLine, ok = inCode(pair.Value, line, column); ok {
			return codeLine, true
		}
	}
	if n.Items != nil || n.Pairs != nil || !isCode(n) && !isInterpolated(n) || line < n.Line {
		return 0, false
	}
	if n.Style != yaml.Literal {
		// Such a string can have more lines in the file than line feeds. Only its line
		// feeds are known here.
		inside := line > n.Line || column == 0 || column >= n.Column
		return 1, inside && line <= n.Line+strings.Count(n.Text, "\n")
	}
	codeLine = max(line-n.Line, 1)
	return codeLine, line-n.Line <= strings.Count(strings.TrimRight(n.Text, "\n"), "\n")+1
}
