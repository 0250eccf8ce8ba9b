package program

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/safejson"
	"bolt/puppet/syntax"
)

// An Input is a program, or why there is none.
type Input struct {
	Source
	Err error
}

// Dump prints the tree of each program. Of several, each has its name above it, as
// Puppet prints it; with json each is a document with the file's name, and null for
// one that has no tree. A tree has one line unless pretty is set. It returns what is wrong with programs; the error is that of
// writing.
func Dump(w io.Writer, list []Input, json, pretty bool) (problems []Finding, err error) {
	format := syntax.PN
	switch {
	case json && pretty:
		format = syntax.PrettyJSON
	case json:
		format = syntax.JSON
	case pretty:
		format = syntax.PrettyPN
	}
	out := bufio.NewWriter(w)
	for _, in := range list {
		var p *syntax.Program
		var found []Finding
		if in.Err != nil {
			found = append(found, Unreadable(in.Name, in.Err))
		} else {
			p, found = in.Parse()
		}
		several := len(list) > 1
		switch {
		case p == nil:
			problems = append(problems, found...)
			if several && json {
				writeTree(out, in.Name, "null")
			}
			continue
		case several && json:
			var tree strings.Builder
			if err := syntax.Dump(&tree, p, format); err != nil {
				return nil, err
			}
			writeTree(out, in.Name, tree.String())
			continue
		case several:
			_, _ = out.WriteString("--- " + in.Name + "\n")
		}
		if err := syntax.Dump(out, p, format); err != nil {
			return nil, err
		}
		_, _ = out.WriteString("\n")
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	return problems, nil
}

// writeTree prints a tree in JSON under its file's name. Errors stay in out.
func writeTree(out *bufio.Writer, name, tree string) {
	_, _ = out.WriteString(`{"file":`)
	_ = safejson.Write(out, name)
	_, _ = out.WriteString(`,"tree":` + tree + "}\n")
}
