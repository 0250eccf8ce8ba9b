// Package bash implements the program's part of completion in bash: it splits a
// command line into words, and writes completions in the form that readline
// inserts.
//
// bash has a completion script of its own, Script, although package cobra has
// one. bash splits the line at the characters of $COMP_WORDBREAKS and ignores
// quotes, so cobra's script breaks inside quotes, in ranges such as
// web[01-12]:22 and after "!". Script passes the line itself to "bolt __bash"
// (package cli/complete).
package bash

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Script is the completion script for bash.
//
//go:embed completion.bash
var Script string

// A Word is the word before the cursor.
type Word struct {
	Text  string // without its quotes
	start int    // readline replaces text from here on
	quote byte   // the quote that is open at start; 0 for none
	close bool   // that quote is closed before the end of the word
}

// Split divides a command line into words as bash does, to the extent that
// completion needs: with quotes and backslashes, but without expansions. breaks are
// the characters of $COMP_WORDBREAKS.
func Split(line, breaks string) (words []string, last Word) {
	var b strings.Builder
	begun := false
	w := Word{}
	end := func() {
		if begun {
			words = append(words, b.String())
		}
		b.Reset()
		begun, w = false, Word{}
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
	w.Text = b.String()
	return words, w
}

// insert returns the text that bash inserts instead of the word for a completion.
func (w Word) insert(completion string) string {
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

// IsAssignment reports whether a word before a command sets a variable.
func IsAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Completions returns the completions of list in the form that bash inserts. If
// bash only lists them, they have their descriptions.
func Completions(list []string, cur Word, compType, columns string) []string {
	flag := ""
	if i := strings.IndexByte(cur.Text, '='); i > 0 && strings.HasPrefix(cur.Text, "-") {
		flag = cur.Text[:i+1] // list contains values of the flag
	}
	var found [][2]string
	width := 0
	for _, line := range list {
		name, description, _ := strings.Cut(line, "\t")
		if name = flag + name; len(name) >= cur.start && strings.HasPrefix(name, cur.Text) {
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

// Files returns the directories, and the files with one of the extensions, that
// complete a word. bash itself quotes them.
func Files(cur Word, home string, extensions []string) []string {
	if cur.start > len(cur.Text) {
		return nil
	}
	prefix := cur.Text[cur.start:]
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
