package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// bashScript is the completion script for bash. It passes the command line to
// "bolt __bash", because bash's own splitting into words does not show which parts
// are quoted.
//
//go:embed completion.bash
var bashScript string

// bashCommand is the name of the command that bashScript calls.
const bashCommand = "__bash"

// A bashWord is the word before the cursor.
type bashWord struct {
	text  string // without its quotes
	start int    // readline replaces text from here on
	quote byte   // the quote that is open at start; 0 for none
	close bool   // that quote is closed before the end of the word
}

// bashWords divides a command line into words as bash does, as far as completion
// needs it: quotes and backslashes, but no expansions. breaks are the characters of
// $COMP_WORDBREAKS.
func bashWords(line, breaks string) (words []string, last bashWord) {
	var b strings.Builder
	begun := false
	w := bashWord{}
	end := func() {
		if begun {
			words = append(words, b.String())
		}
		b.Reset()
		begun, w = false, bashWord{}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case w.quote != 0 && !w.close:
			switch {
			case c == w.quote:
				w.close = true
			case c == '\\' && w.quote == '"' && i+1 < len(line) && strings.IndexByte("$`\"\\", line[i+1]) >= 0:
				i++
				b.WriteByte(line[i])
			default:
				b.WriteByte(c)
			}
		case strings.IndexByte(" \t\n;|&()<>", c) >= 0:
			end()
		case c == '\'' || c == '"':
			begun = true
			w.start, w.quote, w.close = b.Len(), c, false
		case c == '\\' && i+1 < len(line):
			i++
			begun = true
			b.WriteByte(line[i])
		case c != '\\':
			begun = true
			b.WriteByte(c)
			if strings.IndexByte(breaks, c) >= 0 {
				w.start, w.quote, w.close = b.Len(), 0, false
			}
		}
	}
	w.text = b.String()
	return words, w
}

// insert returns the text that bash inserts instead of the word for a completion.
func (w bashWord) insert(completion string) string {
	rest := completion[w.start:]
	switch w.quote {
	case '\'':
		rest = strings.ReplaceAll(rest, "'", `'\''`)
	case '"':
		rest = escaped(rest, "$`\"\\")
	default:
		return escaped(rest, " \t\n\\'\"`$!&|;()<>*?[]{}#~^")
	}
	if w.close {
		rest += string(w.quote)
	}
	return rest
}

// escaped puts a backslash before each of the characters of special in s.
func escaped(s, special string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// completeBash prints the completions for bashScript: first a line with their kind
// and options, then one line for each. args are the command line up to the cursor,
// $COMP_WORDBREAKS, $COMP_TYPE and $COLUMNS.
func completeBash(ctx context.Context, args []string, values flagValues, sys system) error {
	if len(args) != 4 {
		return usagef("%s is for the completion script only: run 'bolt completion bash' to print that script", bashCommand)
	}
	words, cur := bashWords(args[0], args[1])
	for len(words) > 0 && isAssignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	var out bytes.Buffer
	root := newRoot(values, sys, nil)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append(append([]string{cobra.ShellCompRequestCmd}, words[1:]...), cur.text))
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	number, ok := strings.CutPrefix(lines[len(lines)-1], ":")
	flags, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil
	}
	list, directive := lines[:len(lines)-1], cobra.ShellCompDirective(flags)
	switch {
	case directive&cobra.ShellCompDirectiveError != 0:
		list = nil
	case directive&cobra.ShellCompDirectiveFilterFileExt != 0:
		return printBash(sys, "names", filesFor(cur, home(sys), list))
	case directive&cobra.ShellCompDirectiveFilterDirs != 0:
		return printBash(sys, "names", filesFor(cur, home(sys), nil))
	case len(list) == 0 && directive&cobra.ShellCompDirectiveNoFileComp == 0:
		return printBash(sys, "files", nil)
	}
	kind := "words"
	if directive&cobra.ShellCompDirectiveNoSpace != 0 {
		kind += " nospace"
	}
	if directive&cobra.ShellCompDirectiveKeepOrder != 0 {
		kind += " nosort"
	}
	return printBash(sys, kind, bashCompletions(list, cur, args[2], args[3]))
}

// isAssignment reports whether a word before a command sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// bashCompletions returns the completions of list in the form that bash inserts. If
// bash only lists them, they have their descriptions.
func bashCompletions(list []string, cur bashWord, compType, columns string) []string {
	flag := ""
	if i := strings.IndexByte(cur.text, '='); i > 0 && strings.HasPrefix(cur.text, "-") {
		flag = cur.text[:i+1] // list contains values of the flag
	}
	var found [][2]string
	width := 0
	for _, line := range list {
		name, description, _ := strings.Cut(line, "\t")
		if name = flag + name; len(name) >= cur.start && strings.HasPrefix(name, cur.text) {
			found = append(found, [2]string{cur.insert(name), description})
			width = max(width, len(name)-cur.start)
		}
	}
	most, _ := strconv.Atoi(columns)
	lists := compType == "63" || compType == "33" // ? and ! in bash(1), COMP_TYPE
	var all []string
	for _, f := range found {
		if room := most - width - len("  ()"); lists && len(found) > 1 && f[1] != "" && room > 8 {
			about := []rune(f[1])
			if len(about) > room {
				about = append(about[:room-1], '…')
			}
			f[0] = fmt.Sprintf("%-*s  (%s)", width, f[0], string(about))
		}
		all = append(all, f[0])
	}
	return all
}

// filesFor returns the directories, and the files with one of the extensions, that
// complete a word. bash itself quotes them.
func filesFor(cur bashWord, home string, extensions []string) []string {
	if cur.start > len(cur.text) {
		return nil
	}
	prefix := cur.text[cur.start:]
	dir, base := filepath.Split(prefix)
	read := dir
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && cur.quote == 0 {
		read = filepath.Join(home, rest)
	}
	if read == "" {
		read = "."
	}
	entries, err := os.ReadDir(read)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") || strings.Contains(name, "\n") {
			continue
		}
		info, err := os.Stat(filepath.Join(read, name))
		if err == nil && (info.IsDir() || slices.Contains(extensions, strings.TrimPrefix(filepath.Ext(name), "."))) {
			files = append(files, dir+name)
		}
	}
	return files
}

func printBash(sys system, kind string, list []string) error {
	_, err := fmt.Fprintln(sys.out, strings.Join(append([]string{kind}, list...), "\n"))
	return written(err)
}
