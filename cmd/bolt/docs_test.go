package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bolt/cli"
)

// codeSpan matches code inside a sentence.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// absent are commands of Puppet Bolt that a document names because bolt does not have them.
var absent = []string{"module generate-types", "project migrate"}

// TestDocumentedCommands parses each command line of bolt that a document has, in examples and inside sentences:
// the command exists, and it accepts the options.
func TestDocumentedCommands(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	checked := 0
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "testdata", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		topic := path.Dir(name) == "internal/guide/topics"
		if filepath.Ext(name) != ".md" && !topic {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		find := documentedCommands
		if topic {
			find = commandsOfTopic
		}
		for n, line := range find(string(text)) {
			checked++
			if err := documented(p, commands, line); err != nil {
				t.Errorf("%s:%d: %s: %v", name, n, line, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 300 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// documentedCommands yields the line numbers and texts of the command lines that begin with "bolt ".
func documentedCommands(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		block, n, whole := false, 0, ""
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				block = !block
				continue
			}
			if block {
				line, found := strings.CutPrefix(strings.TrimSpace(line), "$ ")
				if whole == "" && !found {
					continue
				}
				if whole += line; strings.HasSuffix(whole, `\`) {
					whole = strings.TrimSuffix(whole, `\`)
					continue
				}
				line, whole = whole, ""
				if strings.HasPrefix(line, "bolt ") && !yield(n, line) {
					return
				}
				continue
			}
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				if strings.HasPrefix(m[1], "bolt ") && !yield(n, m[1]) {
					return
				}
			}
		}
	}
}

// commandsOfTopic is documentedCommands for a topic of the guide: a command line is indented, and a description can follow after
// several spaces.
func commandsOfTopic(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			line, indented := strings.CutPrefix(line, "    ")
			line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "  ")
			if indented && strings.HasPrefix(line, "bolt ") && !yield(n, line) {
				return
			}
		}
	}
}

// documented returns the error in a command line. A line inside a sentence can be a group of commands (bolt
// rollout), or can leave out arguments.
func documented(p *cli.Program, commands []command, line string) error {
	words, given, err := p.Arrange(shellWords(line)[1:])
	if err != nil {
		return err
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "…" })
	if len(words) == 0 || slices.Contains([]string{"help", "man", "completion", "…", "..."}, words[0]) {
		return nil
	}
	if len(words) == 1 && slices.ContainsFunc(p.Groups, func(g cli.Group) bool { return g.Name == words[0] }) {
		return nil
	}
	if slices.Contains(absent, strings.Join(words, " ")) {
		return nil
	}
	i := slices.IndexFunc(commands, func(c command) bool {
		name := strings.Fields(c.Name)
		return len(name) <= len(words) && slices.Equal(name, words[:len(name)])
	})
	if i < 0 {
		return usagef("no such command")
	}
	return p.CheckFlags(&commands[i].Command, given)
}

// shellWords splits the first command of a line as a POSIX shell does. It expands nothing.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, started := rune(0), false
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|;&<>", r), r == '#' && !started:
			if r == '>' || r == '<' {
				word.Reset() // perhaps the number of a file descriptor
				started = false
			}
			end()
			return words
		default:
			word.WriteRune(r)
			started = true
		}
	}
	end()
	return words
}
