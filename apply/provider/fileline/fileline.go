// Package fileline applies resources of the type file_line: single lines of text files.
package fileline

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/regexp"
)

type lineType struct{}

// Type returns the type file_line.
func Type() resource.Type { return lineType{} }

// item is one resource. Its fields are the parameters.
type item struct {
	path, line, match, after string
	latin1                   bool
	absent, matchForAbsence  bool
	multiple, replace        bool
	replaceAll, add          bool
	matches, afters          *regexp.Regexp // nil without match and after

	exists bool
	lines  []string
	want   []string // the lines after the change, nil if there is none
	err    error    // of the change
}

// New implements resource.Type.
func (lineType) New(r *resource.Resource) (resource.Item, error) {
	i := &item{}
	given := make(map[string]bool)
	for name, to := range map[string]*string{"path": &i.path, "line": &i.line, "match": &i.match, "after": &i.after} {
		var err error
		if *to, given[name], err = r.Text(name); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]*bool{
		"match_for_absence": &i.matchForAbsence, "multiple": &i.multiple, "replace": &i.replace,
		"replace_all_matches_not_matching_line": &i.replaceAll, "append_on_no_match": &i.add,
	} {
		var err error
		if *to, err = r.Bool(name, name == "replace" || name == "append_on_no_match"); err != nil {
			return nil, err
		}
	}
	ensure, _, err := r.Text("ensure")
	if err != nil {
		return nil, err
	}
	i.absent = ensure == "absent"
	_, multiple := r.Params.Get("multiple")
	switch {
	case !given["path"]:
		return nil, &resource.ParamError{Param: "path", Problem: "is needed"}
	case !given["line"] && !(i.absent && i.matchForAbsence && given["match"]):
		return nil, &resource.ParamError{Param: "line", Problem: "is needed"}
	case i.replaceAll && multiple && !i.multiple:
		return nil, &resource.ParamError{Param: "multiple", Problem: "must be true if replace_all_matches_not_matching_line is true"}
	case i.replaceAll && !i.replace:
		return nil, &resource.ParamError{Param: "replace", Problem: "must be true if replace_all_matches_not_matching_line is true"}
	}
	if err := i.encoding(r); err != nil {
		return nil, err
	}
	if i.matches, err = pattern(r, "match", given["match"]); err != nil {
		return nil, err
	}
	i.afters, err = pattern(r, "after", given["after"])
	return i, err
}

// encoding reads the parameter of that name.
//
// Differs from Puppet: the line is written in the encoding of the file, and there are fewer encodings.
func (i *item) encoding(r *resource.Resource) error {
	name, _, err := r.Text("encoding")
	if err != nil {
		return err
	}
	switch strings.ToUpper(name) {
	case "", "UTF-8", "UTF8", "US-ASCII", "ASCII", "ASCII-8BIT", "BINARY":
		return nil
	case "ISO-8859-1", "ISO8859-1", "LATIN1":
		i.latin1 = true
		if _, ok := toLatin1(i.line); !ok {
			return &resource.ParamError{Param: "line", Problem: "has characters that are not in the encoding " + name}
		}
		return nil
	}
	return &resource.ParamError{Param: "encoding", Problem: "must be UTF-8, US-ASCII or ISO-8859-1" + r.Shown("encoding", name)}
}

func pattern(r *resource.Resource, param string, given bool) (*regexp.Regexp, error) {
	if !given {
		return nil, nil
	}
	text, _, _ := r.Text(param)
	re, err := regexp.Compile(text)
	if err != nil {
		problem := "must be a regular expression of Ruby"
		if !r.Secret(param) {
			problem += fmt.Sprintf(", and is %q: %s", text, err)
		}
		return nil, &resource.ParamError{Param: param, Problem: problem}
	}
	return re, nil
}

// Read implements resource.Item.
func (i *item) Read(ctx context.Context, _ *resource.Host) (err error) {
	var text string
	if text, i.exists, err = textfile.Read(ctx, i.path); err != nil {
		return err
	}
	if i.latin1 {
		text = fromLatin1(text)
	}
	i.lines = textfile.Lines(text)
	i.want, i.err = nil, nil
	return nil
}

// Plan implements resource.Item.
func (i *item) Plan() ([]resource.Change, error) {
	there, err := i.present()
	missing := &fs.PathError{Op: "read", Path: i.path, Err: fs.ErrNotExist}
	switch {
	case err != nil:
		return nil, err
	case there == !i.absent && !i.exists:
		return nil, missing
	case there == !i.absent:
		return nil, nil
	}
	// With noop, a line that would not be possible is a change as well.
	if !i.exists {
		i.err = missing
	} else if i.absent {
		i.want, i.err = i.removed()
	} else {
		i.want, i.err = i.added()
	}
	if i.absent {
		return resource.Removed("file_line"), nil
	}
	return resource.Created("file_line"), nil
}

// present reports whether the file has a line that the resource describes.
func (i *item) present() (bool, error) {
	has := slices.ContainsFunc(i.lines, i.same)
	if i.matches == nil {
		return has, nil
	}
	n, err := i.count(i.matches)
	switch {
	case err != nil:
		return false, err
	case i.absent && i.matchForAbsence:
		return n > 0, nil
	case i.absent:
		return has, nil
	case n == 0:
		return has || !i.add, nil
	case i.replaceAll:
		return false, nil
	}
	return has || !i.replace, nil
}

func (i *item) same(line string) bool { return textfile.Chomp(line) == i.line }

// count is the number of lines that match. Lines that are as they should be do not count with replaceAll.
func (i *item) count(re *regexp.Regexp) (n int, err error) {
	for _, line := range i.lines {
		if i.replaceAll && i.same(line) {
			continue
		}
		m, err := re.Match(line)
		if err != nil {
			return 0, err
		}
		if m {
			n++
		}
	}
	return n, nil
}

// added are the lines with the line of the resource.
func (i *item) added() (lines []string, err error) {
	at := i.afters
	found := 0
	if i.matches != nil {
		if found, err = i.count(i.matches); err != nil {
			return nil, err
		}
		if found > 1 && !i.multiple {
			return nil, fmt.Errorf("%d lines match %s: set multiple to true to replace all of them", found, i.matches.Source())
		}
		if found > 0 {
			at = nil
		}
	} else if at != nil {
		n, err := i.count(at)
		if err != nil {
			return nil, err
		}
		if n > 1 && !i.multiple {
			return nil, fmt.Errorf("%d lines match %s: set multiple to true to add the line after each of them", n, at.Source())
		}
	}
	done := found > 0
	for _, line := range i.lines {
		if i.matches != nil {
			m, err := i.matches.Match(line)
			if err != nil {
				return nil, err
			}
			if m {
				line = i.line
			}
		}
		lines = append(lines, textfile.End(line))
		if at == nil || done && i.matches != nil {
			continue
		}
		m, err := at.Match(line)
		if err != nil {
			return nil, err
		}
		if m {
			lines = append(lines, textfile.End(i.line))
			done = true
		}
	}
	if !done {
		lines = append(lines, textfile.End(i.line))
	}
	return lines, nil
}

// removed returns the lines that stay after the resource's lines are removed.
func (i *item) removed() (lines []string, err error) {
	byMatch := i.matches != nil && i.matchForAbsence
	if byMatch {
		n, err := i.count(i.matches)
		if err != nil {
			return nil, err
		}
		if n > 1 && !i.multiple {
			return nil, fmt.Errorf("%d lines match %s: set multiple to true to remove all of them", n, i.matches.Source())
		}
	}
	for _, line := range i.lines {
		gone := i.same(line)
		if byMatch {
			if gone, err = i.matches.Match(line); err != nil {
				return nil, err
			}
		}
		if !gone {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Do implements resource.Item.
func (i *item) Do(_ context.Context, _ *resource.Host, _ *resource.Change) error {
	if i.err != nil {
		return i.err
	}
	text := strings.Join(i.want, "")
	if i.latin1 {
		text, _ = toLatin1(text)
	}
	return textfile.Write(i.path, text, 0o644)
}

func fromLatin1(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(rune(text[i]))
	}
	return b.String()
}

func toLatin1(text string) (string, bool) {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		if c > 0xff {
			return "", false
		}
		b = append(b, byte(c))
	}
	return string(b), true
}

// Watch implements resource.Watcher.
func (i *item) Watch(context.Context, *resource.Host) []resource.Watch { return resource.Paths(i.path) }
