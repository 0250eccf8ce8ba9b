package program

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/safejson"
	"bolt/puppet/syntax"
)

// An Input is a program, or the problems that prevented reading it.
type Input struct {
	Source
	Err error
}

// Dump prints the tree of each program. If there are several, it prints the
// name of each above its tree, as Puppet does. With json, each program is a
// document with the file's name and its tree, which is null if the program
// could not be parsed. A tree has one line unless pretty is set. Dump returns
// the problems of the programs; the error is an error of writing.
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
