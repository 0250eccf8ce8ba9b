// Package yaml reads and writes YAML like Ruby's Psych, because Puppet Bolt loads its
// files with Psych.
//
// Decode resolves plain scalars by YAML 1.1 and Psych's own rules: yes, no, on and
// off are Booleans, but y and n are strings; 010 is eight, but 0o10 is a string; 1_000
// and 1,000 are a thousand; 12:30 is 45000 (seconds); 1e3 is a string, but 1.0e+3 is
// a number. Dates, times, symbols (":name"), Ruby objects and aliases are errors,
// because Bolt uses Psych's safe loader, which rejects them. Values have the types of
// package ordered.
//
// Marshal returns the same text as Ruby's to_yaml, including quotes.
//
// Other packages do not use the YAML library directly.
package yaml

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
)

// ReadMap reads the file at path, which must be empty or contain a mapping. what is
// the kind of file in messages, such as "inventory". Errors are *fault.Error of kind
// bolt/file-error with the path in their details.
func ReadMap(ctx context.Context, path, what string) (*ordered.Map, error) {
	data, err := Read(ctx, path, what)
	if err != nil {
		return nil, err
	}
	return DecodeMap(data, path, what)
}

// Read returns the bytes that ReadMap decodes.
func Read(ctx context.Context, path, what string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Config)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.File(path, err, "Could not read %s file at %s: the file does not exist", what, path)
		}
		return nil, fault.File(path, err, "Could not read %s file at %s: %v", what, path, fault.WithoutPath(err))
	}
	return data, nil
}

// DecodeMap is ReadMap for text in memory.
func DecodeMap(data []byte, path, what string) (*ordered.Map, error) {
	v, err := Decode(data, path)
	if err != nil {
		return nil, FileError(err, path, what)
	}
	switch v := v.(type) {
	case *ordered.Map:
		return v, nil
	case nil:
		return &ordered.Map{}, nil
	case bool:
		if !v { // Bolt's code replaces nil and false with an empty hash
			return &ordered.Map{}, nil
		}
	}
	f := fault.File(path, nil, "Invalid content for %s file at %s\nContent should be a Hash or empty, not %s", what, path, typeName(v))
	if _, is := v.(string); is {
		f.Hint = colonHint(firstLine(data))
	}
	return nil, f
}

// FileError returns the error of ReadMap for an error of Decode or DecodeData.
func FileError(err error, path, what string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fault.File(path, err, "Could not parse %s file at %s: %v", what, path, err)
	}
	problem := e.Problem
	if e.Alias {
		problem = "Aliases (*name) are not supported in YAML files: " + problem
	}
	f := fault.File(path, err, "Could not parse %s file at %s%s\n%s", what, path, e.position(), problem)
	f.Hint = e.Hint
	return f
}

// typeName returns the name of v's type in messages.
func typeName(v any) string {
	switch v.(type) {
	case []any:
		return "Array"
	case string:
		return "String"
	case int64:
		return "Integer"
	case float64:
		return "Float"
	case bool:
		return "Boolean"
	}
	return "Hash"
}

// firstLine returns the first line that is not blank or a comment.
func firstLine(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			return line
		}
	}
	return ""
}
