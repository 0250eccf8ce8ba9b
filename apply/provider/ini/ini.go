// Package ini applies resources of the types ini_setting and ini_subsetting: settings in INI files, and words in the
// value of such a setting.
//
// The rules are those of the module inifile. Lines that no resource is about stay as they are.
package ini

import (
	"context"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// An item has the parameters and the state that both types have.
type item struct {
	r                *resource.Resource
	typ              string
	path             string
	section, setting string
	absent           bool
	show             string // "true", "md5" or "false"
	s                syntax
	file             *file
}

type (
	settings    struct{}
	subsettings struct{}
)

// Setting returns the type ini_setting.
func Setting() resource.Type { return settings{} }

// Subsetting returns the type ini_subsetting.
func Subsetting() resource.Type { return subsettings{} }

// text returns a parameter, or without if the resource does not have it.
func text(r *resource.Resource, param, without string, err *error) string {
	t, given, e := r.Text(param)
	if e != nil && *err == nil {
		*err = e
	}
	if !given {
		return without
	}
	return t
}

func flag(r *resource.Resource, param string, without bool, err *error) bool {
	b, e := r.Bool(param, without)
	if e != nil && *err == nil {
		*err = e
	}
	return b
}

func newItem(r *resource.Resource, typ string) (i item, err error) {
	i = item{
		r: r, typ: typ,
		path:    text(r, "path", "", &err),
		section: text(r, "section", "", &err),
		setting: text(r, "setting", "", &err),
		absent:  text(r, "ensure", "present", &err) == "absent",
		show:    text(r, "show_diff", "true", &err),
		s: syntax{
			separator:   text(r, "key_val_separator", " = ", &err),
			prefix:      text(r, "section_prefix", "[", &err),
			suffix:      text(r, "section_suffix", "]", &err),
			indentChar:  text(r, "indent_char", " ", &err),
			indentWidth: -1,
		},
	}
	if err != nil {
		return i, err
	}
	if _, given := r.Params.Get("indent_width"); given {
		n, err := r.Int("indent_width", 0)
		if err != nil {
			return i, err
		}
		if n < 0 || n > 1000 {
			return i, &resource.ParamError{Param: "indent_width", Problem: fmt.Sprintf("must be a number from 0 to 1000, and is %d", n)}
		}
		i.s.indentWidth = int(n)
	}
	if i.path == "" {
		return i, &resource.ParamError{Param: "path", Problem: "is needed"}
	}
	for param, v := range map[string]string{"section": i.section, "setting": i.setting, "key_val_separator": i.s.separator} {
		if strings.ContainsAny(v, "\r\n") {
			return i, &resource.ParamError{Param: param, Problem: "must be one line"}
		}
	}
	if !utf8.ValidString(i.s.separator + i.s.prefix + i.s.suffix) {
		return i, &resource.ParamError{Param: "key_val_separator", Problem: "must be UTF-8, as must section_prefix and section_suffix"}
	}
	i.s.compile()
	return i, nil
}

// Read implements resource.Item.
func (i *item) Read(ctx context.Context, _ *resource.Host) error {
	text, _, err := textfile.Read(ctx, i.path)
	i.file = parse(text, &i.s)
	return err
}

func (i *item) save() error { return textfile.Write(i.path, i.file.String(), 0o644) }

// change describes a change of a property.
func (i *item) change(property, is, should string) resource.Change {
	c := resource.Change{Property: property, Is: is, Should: should}
	switch {
	case property == "ensure" && should == "absent":
		c.Name = i.typ + "_removed"
	case property == "ensure":
		c.Name = i.typ + "_created"
	case i.show == "md5":
		c.Is, c.Should = fmt.Sprintf("{md5}%x", md5.Sum([]byte(is))), fmt.Sprintf("{md5}%x", md5.Sum([]byte(should)))
	case i.show == "false" || i.show == "no":
		c.Is, c.Should = report.Redacted, report.Redacted
	}
	return c
}

// A setting is an ini_setting.
type setting struct {
	item
	values      []string // nil if the value is not given
	force       bool
	refreshOnly bool
}

// New implements resource.Type.
func (settings) New(r *resource.Resource) (resource.Item, error) {
	base, err := newItem(r, "ini_setting")
	i := &setting{item: base, force: flag(r, "force_new_section_creation", true, &err), refreshOnly: flag(r, "refreshonly", false, &err)}
	values, given, e := r.Texts("value")
	switch {
	case err != nil:
		return nil, err
	case e != nil:
		return nil, e
	}
	i.setting = strings.TrimSpace(i.setting)
	if given {
		i.values = []string{}
	}
	for _, v := range values {
		v = strings.TrimSpace(v)
		if strings.ContainsAny(v, "\r\n") {
			return nil, &resource.ParamError{Param: "value", Problem: "must be one line"}
		}
		i.values = append(i.values, v)
	}
	return i, nil
}

// Plan implements resource.Item.
func (i *setting) Plan() ([]resource.Change, error) {
	if i.refreshOnly {
		return nil, nil
	}
	present := i.file.find(i.section) != nil
	is := i.file.values(i.section, i.setting)
	if i.setting != "" {
		if !present && !i.force {
			return nil, nil
		}
		present = is != nil
	}
	switch {
	case i.absent && present:
		return []resource.Change{i.change("ensure", "present", "absent")}, nil
	case i.absent:
		return nil, nil
	case !present:
		return []resource.Change{i.change("ensure", "absent", "present")}, nil
	case i.values == nil || i.setting == "" || slices.Equal(is, i.values):
		return nil, nil
	}
	return []resource.Change{i.change("value", strings.Join(is, ", "), strings.Join(i.values, ", "))}, nil
}

// Do implements resource.Item.
func (i *setting) Do(_ context.Context, _ *resource.Host, _ *resource.Change) error { return i.write() }

func (i *setting) write() error {
	switch {
	case i.absent:
		i.file.remove(i.section, i.setting)
	case i.setting == "":
		i.file.add(i.section)
	case i.values == nil:
		return &resource.ParamError{Param: "value", Problem: "is needed for a new setting"}
	default:
		i.file.set(i.section, i.setting, i.values)
	}
	return i.save()
}

// Refresh implements resource.Refresher: a setting with refreshonly is written now.
func (i *setting) Refresh(context.Context, *resource.Host, []resource.Change) error {
	if !i.refreshOnly {
		return nil
	}
	return i.write()
}

// A subsetting is an ini_subsetting: a word of the value of a setting, which can have a value of its own.
type subsetting struct {
	item
	name, value         string
	given               bool   // value
	separator, kvs      string // between words, and between a word and its value
	quote               string
	exact               bool
	insert, insertValue string
}

// New implements resource.Type.
func (subsettings) New(r *resource.Resource) (resource.Item, error) {
	base, err := newItem(r, "ini_subsetting")
	i := &subsetting{
		item:        base,
		name:        text(r, "subsetting", "", &err),
		value:       text(r, "value", "", &err),
		separator:   text(r, "subsetting_separator", " ", &err),
		kvs:         text(r, "subsetting_key_val_separator", "", &err),
		quote:       text(r, "quote_char", "", &err),
		exact:       flag(r, "use_exact_match", false, &err),
		insert:      text(r, "insert_type", "end", &err),
		insertValue: text(r, "insert_value", "", &err),
	}
	_, i.given = r.Params.Get("value")
	if err == nil && i.insert == "index" {
		_, err = r.Int("insert_value", 0)
	}
	switch {
	case err != nil:
		return nil, err
	case i.setting == "":
		return nil, &resource.ParamError{Param: "setting", Problem: "is needed"}
	case i.name == "":
		return nil, &resource.ParamError{Param: "subsetting", Problem: "is needed"}
	case strings.ContainsAny(i.name+i.value+i.separator+i.kvs, "\r\n"):
		return nil, &resource.ParamError{Param: "subsetting", Problem: "must be one line, as must its value and its separators"}
	case i.quote != "" && i.quote != `"` && i.quote != "'":
		return nil, &resource.ParamError{Param: "quote_char", Problem: fmt.Sprintf("must be empty, \" or ', and is %q", i.quote)}
	}
	return i, nil
}

// words splits the value of the setting. quote is around all of them.
func (i *subsetting) words() (words []string, quote string) {
	quote = i.quote
	values := i.file.values(i.section, i.setting)
	if len(values) == 0 {
		return nil, quote
	}
	v := values[0]
	if n := len(v); n > 1 && v[0] == v[n-1] && (v[0] == '"' || v[0] == '\'') {
		v, quote = v[1:n-1], v[:1]
	}
	for _, w := range strings.FieldsFunc(v, func(c rune) bool { return strings.ContainsRune(i.separator, c) && c != '.' }) {
		words = append(words, strings.TrimSpace(w))
	}
	return words, quote
}

// is reports whether a word is the subsetting with a name.
func (i *subsetting) is(word, name string) bool {
	if i.exact {
		return word == name
	}
	return strings.HasPrefix(word, name+i.kvs)
}

func (i *subsetting) index(words []string, name string) int {
	return slices.IndexFunc(words, func(w string) bool { return i.is(w, name) })
}

// Plan implements resource.Item.
func (i *subsetting) Plan() ([]resource.Change, error) {
	words, _ := i.words()
	at := i.index(words, i.name)
	switch {
	case i.absent && at >= 0:
		return []resource.Change{i.change("ensure", "present", "absent")}, nil
	case i.absent:
		return nil, nil
	case at < 0:
		return []resource.Change{i.change("ensure", "absent", "present")}, nil
	case !i.given || i.exact:
		return nil, nil
	}
	if is := words[at][len(i.name+i.kvs):]; is != i.value {
		return []resource.Change{i.change("value", is, i.value)}, nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (i *subsetting) Do(_ context.Context, _ *resource.Host, _ *resource.Change) error {
	words, quote := i.words()
	if i.absent {
		words = slices.DeleteFunc(words, func(w string) bool { return i.is(w, i.name) })
		// The setting is removed with its last word, with every value of delete_if_empty, as in the module.
		if len(words) == 0 && quote == "" {
			i.file.remove(i.section, i.setting)
			return i.save()
		}
	} else {
		words = i.add(words)
	}
	i.file.set(i.section, i.setting, []string{quote + strings.Join(words, i.separator) + quote})
	return i.save()
}

// add gives all words of the subsetting its value, or adds the word.
func (i *subsetting) add(words []string) []string {
	word := i.name + i.kvs + i.value
	if i.index(words, i.name) >= 0 {
		for n, w := range words {
			if i.is(w, i.name) {
				words[n] = word
			}
		}
		return words
	}
	at := len(words)
	switch i.insert {
	case "start":
		at = 0
	case "before", "after":
		if n := i.index(words, i.insertValue); n >= 0 && i.insert == "before" {
			at = n
		} else if n >= 0 {
			at = n + 1
		}
	case "index":
		n, _ := i.r.Int("insert_value", 0)
		if n < 0 { // from the end
			n = max(0, int64(at)+n+1)
		}
		at = int(min(n, int64(at)))
	}
	return slices.Insert(words, at, word)
}

// Watch implements resource.Watcher.
func (i *item) Watch(context.Context, *resource.Host) []resource.Watch { return resource.Paths(i.path) }
