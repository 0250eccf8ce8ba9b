// Package puppetcompiler compiles catalogs with Puppet itself, for code that needs Ruby: a
// [Program] is an installed puppet, a [Server] is a Puppet Server. Both are a site.Compiler.
//
// Answers are bounded in size, and end with their context. An error about the code is an
// *eval.Error with the position that Puppet reported; another error is a *fault.Error.
//
// Source: the documentation of Puppet (puppet catalog, Puppet Server's catalog API version
// 4) and the answers of Puppet 7.23 and Puppet Server 7.9.
package puppetcompiler

import (
	"cmp"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/lazyregexp"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// place matches the position at the end of a message, and the name of the node.
var place = lazyregexp.New(`(?s)^(.*?)\s*\((?:file: ([^,()]+), )?line: (\d+)(?:, column: (\d+))?\)(?: on node \S+)?$`)

// failure returns the error of a message of Puppet about its code.
func failure(node, msg string) *eval.Error {
	msg = strings.TrimSpace(msg)
	e := &eval.Error{Kind: "puppet", Msg: strings.TrimSuffix(msg, " on node "+node)}
	if m := place().FindStringSubmatch(msg); m != nil {
		e.Msg = m[1]
		e.Pos = position(m[2], m[3], m[4])
	}
	return e
}

func position(file, line, column string) syntax.Position {
	p := syntax.Position{File: file}
	p.Line, _ = strconv.Atoi(line)
	p.Column, _ = strconv.Atoi(column)
	return p
}

// level returns the level of a message of Puppet by its name.
func level(name string) eval.Level {
	for l := eval.Debug; l < eval.Err; l++ {
		if l.String() == strings.ToLower(name) {
			return l
		}
	}
	return eval.Err
}

// message returns a message of Puppet. Its text may begin with the scope of a function.
func message(levelName, source, text string) eval.Log {
	scope, rest, found := strings.Cut(text, "): ")
	if found && strings.HasPrefix(scope, "Scope(") && !strings.Contains(scope, "\n") {
		source, text = scope+")", rest
	}
	l := eval.Log{Level: level(levelName), Msg: text, Scope: cmp.Or(source, "Puppet")}
	if strings.HasPrefix(text, "Compiled catalog for ") {
		l.Level = eval.Info
	}
	return l
}

// facts returns the facts of a node as data.
func facts(h *value.Hash) (*ordered.Map, error) {
	if h == nil {
		return &ordered.Map{}, nil
	}
	v, err := valuedata.To(h)
	if err != nil {
		return nil, err
	}
	return v.(*ordered.Map), nil
}
