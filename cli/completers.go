package cli

import (
	"context"
	"slices"
	"strings"
)

// Named returns the words that begin with prefix. Only the first line of a
// description is shown.
func Named(words []Word, prefix string) Completions {
	var c Completions
	for _, w := range words {
		if strings.HasPrefix(w.Text, prefix) {
			c.Words = append(c.Words, Word{w.Text, firstLine(w.About)})
		}
	}
	return c
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// OrFiles returns a Completer that also completes the names of files.
func OrFiles(complete Completer) Completer {
	return func(ctx context.Context, q Query) Completions {
		c := complete(ctx, q)
		c.Files = true
		return c
	}
}

// A Parameter can be given as an argument NAME=VALUE.
type Parameter struct {
	Name, About string
	Choices     []string // its possible values; nil if there are too many
	Required    bool
}

// Assignments returns the completions of an argument NAME=VALUE: the parameters that
// args does not set or, if the name of a parameter is typed, its values.
func Assignments(list []Parameter, args []string, prefix string) Completions {
	if name, text, valued := strings.Cut(prefix, "="); valued {
		i := slices.IndexFunc(list, func(p Parameter) bool { return p.Name == name })
		if i < 0 {
			return Completions{Files: true}
		}
		var c Completions
		for _, v := range list[i].Choices {
			if strings.HasPrefix(v, text) {
				c.Words = append(c.Words, Word{Text: name + "=" + v})
			}
		}
		return c
	}
	var free []Word
	for _, p := range list {
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, p.Name+"=") }) {
			free = append(free, Word{p.Name + "=", p.About})
		}
	}
	c := Named(free, prefix)
	c.NoSpace = true
	return c
}
