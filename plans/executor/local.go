package executor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// one returns a function with one signature.
func one(name, doc, params string, run func(c *eval.Call) (value.Value, error)) *eval.Function {
	return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{Params: params, Run: run}}}
}

// prompting returns the functions that prompt the user.
func prompting() []*eval.Function {
	return []*eval.Function{
		one("prompt", "Prompts the user for a string.", "String $prompt, Hash[String[1], Any] $options = {}", func(c *eval.Call) (value.Value, error) {
			options, _ := c.Arg(1).(*value.Hash)
			return of(&c.Site).ask(c, string(c.Args[0].(value.String)), options, nil)
		}),
		{Name: "prompt::menu", Doc: "Prompts the user to choose from a menu.", Signatures: []eval.Signature{
			{Params: "String $prompt, Array[Variant[Target, Data], 1] $menu, Hash[String[1], Any] $options = {}", Run: menu},
			{Params: "String $prompt, Hash[String[1], Variant[Target, Data], 1] $menu, Hash[String[1], Any] $options = {}", Run: menu},
		}},
	}
}

// ask asks the user, or returns the default if it cannot ask. valid reports
// whether an answer is acceptable.
func (x *Executor) ask(c *eval.Call, question string, options *value.Hash, valid func(answer string) (value.Value, bool)) (value.Value, error) {
	option := func(name string) value.Value {
		if options == nil {
			return nil
		}
		v, _ := options.GetString(name)
		return v
	}
	byDefault := option("default")
	sensitive := option("sensitive") != nil && value.Truthy(option("sensitive"))
	wrap := func(v value.Value) value.Value {
		if sensitive {
			return value.NewSensitive(v)
		}
		return v
	}
	if byDefault != nil {
		shown := value.ToString(byDefault)
		if sensitive {
			shown = value.Redacted
		}
		question += " [" + shown + "]"
	}
	for {
		answer, ok, err := x.answer(c, question+": ", sensitive)
		switch {
		case err != nil:
			return nil, err
		case !ok && byDefault == nil:
			return nil, failf("bolt/no-tty-error", "STDIN is not a tty, unable to prompt")
		case (!ok || answer == "") && byDefault != nil:
			return wrap(byDefault), nil
		case valid == nil:
			return wrap(value.String(answer)), nil
		}
		if v, ok := valid(answer); ok {
			return wrap(v), nil
		}
	}
}

// answer returns the user's answer, now or in an earlier run; ok is false if bolt
// cannot ask.
func (x *Executor) answer(c *eval.Call, question string, sensitive bool) (answer string, ok bool, err error) {
	asked := func() (any, error) {
		x.apart(func() { answer, ok, err = x.askPeople(c.Context(), question, sensitive) })
		if !ok {
			return nil, err
		}
		return answer, err
	}
	if sensitive { // it is not recorded
		_, err := asked()
		return answer, ok, err
	}
	v, err := x.effect(c, question, false, asked)
	answer, ok = v.(string)
	return answer, ok, err
}

// menu implements prompt::menu.
func menu(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	keys, values := []string{}, []value.Value{}
	switch m := c.Args[1].(type) {
	case *value.Array:
		for i, v := range m.All() {
			keys, values = append(keys, strconv.Itoa(i+1)), append(values, v)
		}
	case *value.Hash:
		for k, v := range m.All() {
			keys, values = append(keys, value.ToString(k)), append(values, v)
		}
	}
	options, _ := c.Arg(2).(*value.Hash)
	if options != nil {
		if d, ok := options.GetString("default"); ok && !slices.ContainsFunc(values, func(v value.Value) bool { return value.Same(v, d) }) {
			return nil, failf("bolt/validation-error", "The default of the menu must be one of its choices, got %s", value.Inspect(d))
		}
	}
	var b strings.Builder
	for i, k := range keys {
		b.WriteString("(" + k + ") " + message(values[i]) + "\n")
	}
	b.WriteString(string(c.Args[0].(value.String)))
	return x.ask(c, b.String(), options, func(answer string) (value.Value, bool) {
		i := slices.Index(keys, answer)
		if i < 0 {
			return nil, false
		}
		return values[i], true
	})
}

// ofController returns the functions about files and the environment of this
// machine.
func ofController() []*eval.Function {
	text := func(v value.Value) string { return string(v.(value.String)) }
	return []*eval.Function{
		one("system::env", "Returns a variable of the environment of this machine; undef if it is not set.", "String $name", func(c *eval.Call) (value.Value, error) {
			if v, ok := of(&c.Site).o.Getenv(text(c.Args[0])); ok {
				return value.String(v), nil
			}
			return value.Undef{}, nil
		}),
		one("file::join", "Joins parts of a path.", "String *$paths", func(c *eval.Call) (value.Value, error) {
			parts := make([]string, len(c.Args))
			for i, v := range c.Args {
				parts[i] = text(v)
			}
			return value.String(rubyJoin(parts)), nil
		}),
		one("file::exists", "Reports whether a file exists: a path, or MODULE/FILE.", "String[1] $file", func(c *eval.Call) (value.Value, error) {
			_, err := os.Stat(of(&c.Site).o.Modules.Find(text(c.Args[0])))
			return value.Bool(err == nil), nil
		}),
		one("file::readable", "Reports whether a file can be read: a path, or MODULE/FILE.", "String[1] $file", func(c *eval.Call) (value.Value, error) {
			f, err := os.Open(of(&c.Site).o.Modules.Find(text(c.Args[0])))
			if err == nil {
				f.Close()
			}
			return value.Bool(err == nil), nil
		}),
		one("file::read", "Returns the content of a file: a path, or MODULE/FILE.", "String[1] $file", func(c *eval.Call) (value.Value, error) {
			path, err := of(&c.Site).file(text(c.Args[0]))
			if err != nil {
				return nil, err
			}
			data, err := readfile.Read(c.Context(), path, readfile.Payload)
			if err != nil {
				return nil, lineOnly(fault.File(path, err, "The file %s could not be read: %v", path, fault.WithoutPath(err)))
			}
			return value.String(strings.ToValidUTF8(string(data), "\ufffd")), c.Size(len(data))
		}),
		one("file::write", "Writes a string to a file of this machine.", "String[1] $file, String $content", func(c *eval.Call) (value.Value, error) {
			path := text(c.Args[0])
			if err := os.WriteFile(path, []byte(text(c.Args[1])), 0o644); err != nil {
				return nil, fault.File(path, err, "The file %s could not be written: %v", path, fault.WithoutPath(err))
			}
			return value.Undef{}, nil
		}),
		one("file::delete", "Removes a file of this machine.", "String[1] $file", func(c *eval.Call) (value.Value, error) {
			path := text(c.Args[0])
			if err := os.Remove(path); err != nil {
				return nil, fault.File(path, err, "The file %s could not be removed: %v", path, fault.WithoutPath(err))
			}
			return value.Undef{}, nil
		}),
		one("dir::children", "Returns the names of the files in a directory: a path, MODULE, or MODULE/DIRECTORY.", "String $directory", func(c *eval.Call) (value.Value, error) {
			x, ref := of(&c.Site), text(c.Args[0])
			path := x.o.Modules.Find(ref)
			if m, ok := x.o.Modules.Module(ref); ok && !filepath.IsAbs(ref) {
				path = m.Dir
			}
			entries, err := os.ReadDir(path)
			if err != nil {
				return nil, lineOnly(fault.File(path, err, "The directory %s could not be read: %v", path, fault.WithoutPath(err)))
			}
			names := make([]value.Value, len(entries))
			for i, e := range entries {
				names[i] = value.String(e.Name())
			}
			return value.NewArray(names...), nil
		}),
	}
}

// rubyJoin joins parts with one slash between them, as Ruby's File.join does.
func rubyJoin(parts []string) string {
	out := ""
	for i, p := range parts {
		switch {
		case i == 0:
			out = p
		case strings.HasSuffix(out, "/"):
			out += strings.TrimLeft(p, "/")
		case strings.HasPrefix(p, "/"):
			out += p
		default:
			out += "/" + p
		}
	}
	return out
}
