package syntax

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A recorded is a small program and the result of Puppet 8.
type recorded struct {
	Src   string
	EPP   bool
	Tasks bool
	PN    string // its tree
	Tree  string // in the older notation
	At    string // type and offset of its nodes
	Error []int  // line and column; empty, but there, where Puppet gives none, as at the end of the text
}

func recordedCases(t testing.TB) []recorded {
	t.Helper()
	f, err := os.Open("testdata/puppet.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(list) < 1000 {
		t.Fatalf("only %d cases", len(list))
	}
	return list
}

func (c *recorded) parse() (*Program, error) {
	f := NewFile("x.pp", c.Src)
	if c.EPP {
		return ParseTemplate(f, Options{Tasks: c.Tasks})
	}
	return Parse(f, Options{Tasks: c.Tasks})
}

// TestParsesLikePuppet compares trees, positions of nodes and positions of
// errors with those of Puppet.
func TestParsesLikePuppet(t *testing.T) {
	for i, c := range recordedCases(t) {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			prog, err := c.parse()
			if c.Error != nil {
				if err == nil {
					t.Fatalf("%q: no error", c.Src)
				}
				first := err.(Errors)[0]
				p := first.Position()
				if len(c.Error) == 0 && !first.Incomplete && first.Kind != "byte-order-mark" || len(c.Error) == 2 && (p.Line != c.Error[0] || p.Column != c.Error[1]) {
					t.Fatalf("%q: error %v, want it at %v", c.Src, err, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", c.Src, err)
			}
			if got := dumpText(t, prog, PN); c.PN != "" && got != c.PN {
				t.Errorf("%q:\ngot  %s\nwant %s", c.Src, got, c.PN)
			}
			if got := dumpText(t, prog, Tree); c.Tree != "" && got != c.Tree {
				t.Errorf("%q:\ngot  %s\nwant %s", c.Src, got, c.Tree)
			}
			if got := places(prog); c.At != "" && got != c.At {
				t.Errorf("%q:\ngot  %s\nwant %s", c.Src, got, c.At)
			}
			if !hasCorner(prog) {
				parse := Parse
				if c.EPP {
					parse = ParseTemplate
				}
				reprint(t, prog, parse, Options{Tasks: c.Tasks})
			}
		})
	}
}

// places returns the types of the nodes, with Puppet's names, and their
// offsets. It leaves out nodes that only one of the two has.
func places(prog *Program) string {
	var list []string
	Walk(prog.Body, func(n Node) bool {
		if n == nil {
			return false
		}
		name := ""
		switch n.(type) {
		case *Block, *Name, *Nop, *Apply:
		case *Undef:
			name = "LiteralUndef"
		case *Default:
			name = "LiteralDefault"
		case *Bool:
			name = "LiteralBoolean"
		case *Int:
			name = "LiteralInteger"
		case *Float:
			name = "LiteralFloat"
		case *Str:
			name = "LiteralString"
		case *Concat:
			name = "ConcatenatedString"
		case *Regexp:
			name = "LiteralRegularExpression"
		case *TypeName:
			name = "QualifiedReference"
		case *Reserved:
			name = "ReservedWord"
		case *Var:
			name = "VariableExpression"
		case *List:
			name = "LiteralList"
		case *Hash:
			name = "LiteralHash"
		case *Neg:
			name = "UnaryMinusExpression"
		case *Splat:
			name = "UnfoldExpression"
		case *Paren:
			name = "ParenthesizedExpression"
		case *Assign:
			name = "AssignmentExpression"
		case *Relation:
			name = "RelationshipExpression"
		case *Index:
			name = "AccessExpression"
		case *Call:
			name = "CallNamedFunctionExpression"
		case *Method:
			name = "CallMethodExpression"
		case *EPP:
			name = "LambdaExpression"
		case *Param:
			name = "Parameter"
		case *Defaults:
			name = "ResourceDefaultsExpression"
		case *Override:
			name = "ResourceOverrideExpression"
		case *Class:
			name = "HostClassDefinition"
		case *Define:
			name = "ResourceTypeDefinition"
		case *NodeDef:
			name = "NodeDefinition"
		case *Function, *Plan:
			name = strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.") + "Definition"
		case *TypeDef:
			name = "TypeDefinition"
		case *RenderText:
			name = "RenderStringExpression"
		case *Binary, *Entry, *Attr, *CaseOption, *ResourceBody, *TypeAlias, *TypeMapping:
			name = strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.")
		default: // Heredoc is HeredocExpression, and so on
			name = strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.") + "Expression"
		}
		if name != "" {
			list = append(list, fmt.Sprintf("%s:%d", name, n.At().Off))
		}
		return true
	})
	slices.Sort(list)
	return strings.Join(list, " ")
}
