package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"bolt/internal/ordered"
	"bolt/internal/yaml"
)

// errLayout is the error of a file that has no place for another module which
// we understand.
var errLayout = errors.New("its layout is not understood")

// addModule adds the name of a module to the list of modules in the text of a
// bolt-project.yaml. Everything else stays as it is, comments included.
//
// The text is changed by the places that the parser tells; whether that came
// out right is checked by reading the result.
func addModule(data []byte, file, name string) ([]byte, error) {
	before, err := yaml.DecodeMap(data, file, "project")
	if err != nil {
		return nil, err
	}
	want := before.Clone()
	list, _ := want.Value("modules").([]any)
	want.Set("modules", append(slices.Clone(list), name))

	var after []byte
	if _, there := before.Get("modules"); there {
		after = addToList(data, before.Value("modules"), name)
	} else {
		after = addList(data, name)
	}
	if after == nil {
		return nil, errLayout
	}
	got, err := yaml.DecodeMap(after, file, "project")
	if err != nil || !same(got, want) {
		return nil, errLayout
	}
	return after, nil
}

func same(a, b *ordered.Map) bool {
	x, xerr := json.Marshal(a)
	y, yerr := json.Marshal(b)
	return xerr == nil && yerr == nil && bytes.Equal(x, y)
}

// splitLines cuts text behind its line ends.
func splitLines(data []byte) []string { return slices.Collect(strings.Lines(string(data))) }

// ending is how lines of the text end.
func ending(lines []string) string {
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// insert puts a line at an index.
func insert(lines []string, at int, line string) []byte {
	if at > 0 && !strings.HasSuffix(lines[at-1], "\n") {
		lines[at-1] += ending(lines)
	}
	return []byte(strings.Join(slices.Insert(lines, at, line+ending(lines)), ""))
}

// addList adds the key with a list of one at the end.
func addList(data []byte, name string) []byte {
	lines := splitLines(data)
	end := len(lines)
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	if end > 0 && strings.TrimSpace(lines[end-1]) == "..." {
		end--
	}
	first := insert(lines, end, "modules:")
	return insert(splitLines(first), end+1, "- "+name)
}

// addToList adds to the list that is there.
func addToList(data []byte, value any, name string) []byte {
	lines := splitLines(data)
	keyLine, keyColumn := yaml.Locate(data, "modules")
	if keyLine < 1 || keyLine > len(lines) {
		return nil
	}
	list, _ := value.([]any)
	if len(list) == 0 {
		return replaceEmpty(lines, keyLine-1, keyColumn-1, name)
	}
	line, column := yaml.Locate(data, "modules", len(list)-1)
	if line < 1 || line > len(lines) {
		return nil
	}
	head := lines[line-1][:min(max(column-1, 0), len(lines[line-1]))]
	dash := strings.LastIndexByte(head, '-')
	if dash < 0 || strings.TrimSpace(head[dash+1:]) != "" || strings.TrimSpace(head[:dash]) != "" {
		return addToFlow(lines, keyLine-1, name)
	}
	// The last element goes on in lines that are indented deeper than its dash.
	end := line
	for i := line; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if len(lines[i])-len(strings.TrimLeft(lines[i], " ")) <= dash {
			break
		}
		end = i + 1
	}
	return insert(lines, end, lines[line-1][:dash]+"- "+name)
}

// replaceEmpty makes a list of "[]", or of nothing, behind the key.
func replaceEmpty(lines []string, at, column int, name string) []byte {
	line := strings.TrimRight(lines[at], "\r\n")
	i := strings.IndexByte(line[min(column, len(line)):], ':')
	if i < 0 {
		return nil
	}
	i += column + 1
	rest, comment := strings.TrimSpace(line[i:]), ""
	if j := strings.Index(rest, " #"); j >= 0 {
		rest, comment = strings.TrimSpace(rest[:j]), rest[j:]
	} else if strings.HasPrefix(rest, "#") {
		rest, comment = "", " "+rest
	}
	switch strings.ReplaceAll(rest, " ", "") {
	case "[]", "", "~", "null":
	default:
		return nil
	}
	lines[at] = line[:i] + comment + ending(lines)
	return insert(lines, at+1, strings.Repeat(" ", column)+"- "+name)
}

// addToFlow adds to a list in brackets, whose beginning is in a line: before
// the bracket that closes it.
func addToFlow(lines []string, at int, name string) []byte {
	text := strings.Join(lines[at:], "")
	depth, quote, last := 0, byte(0), byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote == '"' && c == '\\', quote == '#' && c != '\n':
			continue
		case quote == '#':
			quote = 0
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", text[i-1]) >= 0:
			quote = c
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth > 0 {
				break
			}
			before := strings.TrimRight(text[:i], " \t\r\n")
			comma := ", "
			if last == ',' {
				comma = " "
			}
			if strings.Contains(before[strings.LastIndexByte(before, '\n')+1:], "#") {
				return nil // the end of a comment, perhaps
			}
			return []byte(strings.Join(lines[:at], "") + before + comma + name + text[len(before):])
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			last = c
		}
	}
	return nil
}
