package builtin

import (
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Files are the files that functions read: those of modules by "module/path",
// others by their absolute path.
type Files interface {
	// Find returns where a file is: below the folder area ("files",
	// "templates") of a module, or the path itself if it is absolute and
	// there. ok is false if there is none.
	Find(area, path string) (found string, ok bool)
	// Read returns the bytes of a file that Find has found.
	Read(found string) ([]byte, error)
	// Module returns the folder of a module.
	Module(name string) (dir string, ok bool)
}

// nothing is Files where there are none.
type nothing struct{}

func (nothing) Find(string, string) (string, bool) { return "", false }
func (nothing) Read(string) ([]byte, error)        { return nil, nil }
func (nothing) Module(string) (string, bool)       { return "", false }

// fromFiles are the functions that read files.
func fromFiles(files Files) []*eval.Function {
	if files == nil {
		files = nothing{}
	}
	const params = "Hash[Pattern[/^\\w+$/], Any] $params = {}"
	return []*eval.Function{
		{Name: "find_file", Doc: "Returns where the first of some files is that exists, written as module/path or as an absolute path, or undef.", Signatures: finding(files, "files")},
		{Name: "find_template", Doc: "Returns where the first of some templates is that exists, written as module/path or as an absolute path, or undef.", Signatures: finding(files, "templates")},
		{Name: "module_directory", Doc: "Returns the folder of the first of some modules that exists, or undef.",
			Signatures: named(func(name string) (string, bool) { return files.Module(name) })},
		{Name: "file", Doc: "Returns the text of the first of some files that exists, written as module/path or as an absolute path.",
			Signatures: one("String *$paths", func(c *eval.Call) (value.Value, error) {
				for _, p := range c.Args {
					if at, ok := files.Find("files", string(p.(value.String))); ok {
						data, err := files.Read(at)
						if err != nil {
							return nil, err
						}
						return value.String(data), nil
					}
				}
				return nil, eval.Errorf("no-file", "none of these files exists: %s", words(c.Args, value.ToString))
			})},
		{Name: "binary_file", Doc: "Returns the bytes of a file, written as module/path or as an absolute path.",
			Signatures: one("String $path", func(c *eval.Call) (value.Value, error) {
				path := string(c.Args[0].(value.String))
				at, ok := files.Find("files", path)
				if !ok {
					return nil, eval.Errorf("no-file", "the file %q does not exist", path)
				}
				data, err := files.Read(at)
				if err != nil {
					return nil, err
				}
				return value.NewBinary(data), nil
			})},
		{Name: "epp", Doc: "Returns the text of a template in the Puppet language, written as module/path, with parameters.",
			Signatures: one("String $path, "+params, func(c *eval.Call) (value.Value, error) {
				path := string(c.Args[0].(value.String))
				at, ok := files.Find("templates", path)
				if !ok {
					return nil, eval.Errorf("no-file", "the template %q does not exist", path)
				}
				data, err := files.Read(at)
				if err != nil {
					return nil, err
				}
				return render(c, at, string(data), false)
			})},
		{Name: "inline_epp", Doc: "Returns the text of a template that is a string of the Puppet language, with parameters.",
			Signatures: one("String $template, "+params, func(c *eval.Call) (value.Value, error) {
				return render(c, "", string(c.Args[0].(value.String)), true)
			})},
		{Name: "template", Doc: "Is refused: templates in Ruby (ERB) cannot be rendered without Ruby.", Signatures: one("Any *$paths", noRuby)},
		{Name: "inline_template", Doc: "Is refused: templates in Ruby (ERB) cannot be rendered without Ruby.", Signatures: one("Any *$texts", noRuby)},
	}
}

func noRuby(c *eval.Call) (value.Value, error) {
	instead := "epp()"
	if c.Name == "inline_template" {
		instead = "inline_epp()"
	}
	return nil, eval.Errorf("needs-ruby", "%s() renders templates written in Ruby (ERB), and there is no Ruby here: write the template in the Puppet language, and use %s", c.Name, instead)
}

// render parses a template and evaluates it.
func render(c *eval.Call, name, text string, local bool) (value.Value, error) {
	p, err := syntax.ParseTemplate(syntax.NewFile(name, text), syntax.Options{Tasks: c.Tasks()})
	if err != nil {
		return nil, err
	}
	params, _ := c.Arg(1).(*value.Hash)
	return c.Template(p, params, local)
}

// finding are the signatures of find_file and find_template.
func finding(files Files, area string) []eval.Signature {
	return named(func(path string) (string, bool) { return files.Find(area, path) })
}

// named are the signatures of a function that takes names, or an array of
// them, and returns the first answer.
func named(find func(string) (string, bool)) []eval.Signature {
	first := func(list []value.Value) (value.Value, error) {
		for _, v := range list {
			if at, ok := find(string(v.(value.String))); ok {
				return value.String(at), nil
			}
		}
		return value.Undef{}, nil
	}
	return []eval.Signature{
		{Params: "String *$names", Run: func(c *eval.Call) (value.Value, error) { return first(c.Args) }},
		{Params: "Array[Array[String]] *$names", Run: func(c *eval.Call) (value.Value, error) {
			list, err := flatten(c, nil, c.Args)
			if err != nil {
				return nil, err
			}
			return first(list)
		}},
	}
}
