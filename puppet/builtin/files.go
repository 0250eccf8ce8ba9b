package builtin

import (
	"context"
	"errors"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Files are the files that functions read. Files of modules are named
// "module/path", others by their absolute path.
type Files interface {
	// Find returns the path of a file in the directory area ("files",
	// "templates") of a module. An absolute path is returned itself if the file
	// exists. If the file does not exist, ok is false.
	Find(area, path string) (found string, ok bool)
	// Read returns the content of a file that Find has found. It ends when ctx
	// is done.
	Read(ctx context.Context, found string) ([]byte, error)
	// Module returns the directory of a module.
	Module(name string) (dir string, ok bool)
}

// nothing implements Files without any files.
type nothing struct{}

func (nothing) Find(string, string) (string, bool)           { return "", false }
func (nothing) Read(context.Context, string) ([]byte, error) { return nil, nil }
func (nothing) Module(string) (string, bool)                 { return "", false }

// fromFiles returns the functions that read files.
func fromFiles(o Options) []*eval.Function {
	files, parse := o.Files, o.Template
	if files == nil {
		files = nothing{}
	}
	if parse == nil {
		parse = func(name, text string, tasks bool) (*syntax.Program, error) {
			return syntax.ParseTemplate(syntax.NewFile(name, text), syntax.Options{Tasks: tasks})
		}
	}
	const params = "Hash[Pattern[/^\\w+$/], Any] $params = {}"
	return []*eval.Function{
		{Name: "find_file", Doc: "Returns the path of the first of several files that exists, written as module/path or as an absolute path, or undef.", Signatures: finding(files, "files")},
		{Name: "find_template", Doc: "Returns the path of the first of several templates that exists, written as module/path or as an absolute path, or undef.", Signatures: finding(files, "templates")},
		{Name: "module_directory", Doc: "Returns the folder of the first of several modules that exists, or undef.",
			Signatures: named(func(name string) (string, bool) { return files.Module(name) })},
		{Name: "file", Doc: "Returns the text of the first of several files that exists, written as module/path or as an absolute path.",
			Signatures: one("String *$paths", func(c *eval.Call) (value.Value, error) {
				for _, p := range c.Args {
					if at, ok := files.Find("files", string(p.(value.String))); ok {
						data, err := files.Read(c.Context(), at)
						if err != nil {
							return nil, err
						}
						return value.String(data), nil
					}
				}
				names, err := words(c, c.Args, value.TextWithin)
				if err != nil {
					return nil, err
				}
				return nil, eval.Errorf("no-file", "none of these files exists: %s", names)
			})},
		{Name: "binary_file", Doc: "Returns the bytes of a file, written as module/path or as an absolute path.",
			Signatures: one("String $path", func(c *eval.Call) (value.Value, error) {
				path := string(c.Args[0].(value.String))
				at, ok := files.Find("files", path)
				if !ok {
					return nil, eval.Errorf("no-file", "the file %q does not exist", path)
				}
				data, err := files.Read(c.Context(), at)
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
				data, err := files.Read(c.Context(), at)
				if err != nil {
					return nil, err
				}
				p, err := parse(at, string(data), c.Tasks())
				if err != nil {
					return nil, err
				}
				return render(c, p, false)
			})},
		{Name: "inline_epp", Doc: "Returns the text of a template that is a string of the Puppet language, with parameters.",
			Signatures: one("String $template, "+params, func(c *eval.Call) (value.Value, error) {
				p, err := parse(inlineName, string(c.Args[0].(value.String)), c.Tasks())
				if err != nil {
					return nil, within(err)
				}
				return render(c, p, true)
			})},
	}
}

// inlineName is Puppet's file name for a template that is not in a file.
const inlineName = "inlined-epp-text"

// within returns the error of a template that is a string in the program. Its
// position is that of the call. Its message contains the position in the
// template.
func within(err error) error {
	errs, ok := errors.AsType[syntax.Errors](err)
	if !ok || len(errs) == 0 {
		return err
	}
	at := errs[0].Position()
	return eval.Errorf(errs[0].Kind, "the template: %s (%s, line %d, column %d)", errs[0].Msg, inlineName, at.Line, at.Column)
}

// render evaluates a template with the parameters of a call.
func render(c *eval.Call, p *syntax.Program, local bool) (value.Value, error) {
	params, _ := c.Arg(1).(*value.Hash)
	return c.Template(p, params, local)
}

// finding returns the signatures of find_file and find_template.
func finding(files Files, area string) []eval.Signature {
	return named(func(path string) (string, bool) { return files.Find(area, path) })
}

// named returns the signatures of a function that takes names or an array of
// names, and returns the first result.
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
			list, err := flatten(c, c.Args)
			if err != nil {
				return nil, err
			}
			return first(list)
		}},
	}
}
