// Package hieradata reads hiera's files from the operating system: it is what
// [hiera.Options] needs besides names.
//
//	o := hieradata.Options(hieradata.Source{Getenv: os.LookupEnv})
//	o.Global = "/project/hiera.yaml"
//	h := hiera.New(o)
//
// The formats are those of packages yaml, hocon and eyaml of this module, and
// JSON.
package hieradata

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/internal/eyaml"
	"bolt/internal/hocon"
	"bolt/internal/ordered"
	"bolt/internal/yaml"
	"bolt/puppet/hiera"
)

// A Source is where data that is not in files comes from.
type Source struct {
	// Getenv gives environment variables to HOCON's substitutions and eyaml's
	// keys; nil: there are none.
	Getenv func(name string) (string, bool)
	// Dir is what paths of eyaml's keys are relative to; "" for the working
	// directory.
	Dir string
}

// Options returns options that read files of the operating system. Names of
// layers are left to be filled in.
func Options(from Source) hiera.Options {
	return hiera.Options{
		Files: Files{},
		YAML:  yaml.DecodeData,
		Config: func(text []byte, file string) (any, hiera.Locator, error) {
			v, at, err := yaml.DecodeLocated(text, file)
			return v, at, err
		},
		JSON: decodeJSON,
		HOCON: func(text []byte, file string) (any, error) {
			m, err := hocon.Decode(text, file, hocon.Options{Getenv: from.Getenv})
			if err != nil {
				return nil, err
			}
			return m, nil
		},
		Eyaml: func(options map[string]string) (func(string) (string, error), error) {
			keys, err := eyaml.Open(options, eyaml.Source{
				ReadFile: func(path string) ([]byte, error) {
					if from.Dir != "" && !filepath.IsAbs(path) {
						path = filepath.Join(from.Dir, path)
					}
					return os.ReadFile(path)
				},
				Getenv: func(name string) string {
					if from.Getenv == nil {
						return ""
					}
					v, _ := from.Getenv(name)
					return v
				},
			})
			if err != nil {
				return nil, err
			}
			return keys.Decrypt, nil
		},
	}
}

func decodeJSON(text []byte, file string) (any, error) {
	v, err := ordered.ParseJSON(blankComments(text))
	if err != nil {
		return nil, &hiera.Error{Kind: "data", File: file, Msg: err.Error(), Err: err}
	}
	return v, nil
}

// blankComments replaces comments by white space: Ruby's JSON allows /* … */ and
// // … in data files.
func blankComments(text []byte) []byte {
	if !bytes.Contains(text, []byte("/*")) && !bytes.Contains(text, []byte("//")) {
		return text
	}
	out := bytes.Clone(text)
	for i := 0; i < len(out); i++ {
		var end int
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			continue
		case bytes.HasPrefix(out[i:], []byte("/*")):
			if end = bytes.Index(out[i+2:], []byte("*/")); end < 0 {
				return text // which the decoder refuses
			}
			end += i + 4
		case bytes.HasPrefix(out[i:], []byte("//")):
			if end = bytes.IndexByte(out[i:], '\n'); end < 0 {
				end = len(out) - i
			}
			end += i
		default:
			continue
		}
		for ; i < end; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
		i--
	}
	return out
}

// Files are the files of the operating system.
type Files struct{}

// Stat is hiera.Files's.
func (Files) Stat(path string) (hiera.Stamp, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return hiera.Stamp{}, false
	}
	s := hiera.Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode = sys.Ino
	}
	return s, true
}

// ReadFile is hiera.Files's.
func (Files) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Glob is hiera.Files's. Names that begin with a period match only patterns
// that do.
func (Files) Glob(pattern string) ([]string, error) {
	var out []string
	for _, p := range braces(pattern) {
		root := "."
		if filepath.IsAbs(p) {
			root, p = "/", strings.TrimLeft(p, "/")
		}
		found, err := expand(root, strings.Split(p, "/"))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && !info.IsDir() {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// maxAlternatives limits what {a,b}{c,d}… may become.
const maxAlternatives = 10_000

// braces returns the patterns that one with {a,b} stands for.
func braces(p string) []string {
	out := []string{p}
	for i := 0; i < len(out) && len(out) < maxAlternatives; {
		before, choices, after, ok := firstBrace(out[i])
		if !ok {
			i++
			continue
		}
		var alternatives []string
		for _, c := range choices {
			alternatives = append(alternatives, before+c+after)
		}
		out = slices.Replace(out, i, i+1, alternatives...)
	}
	return out
}

// firstBrace divides a pattern at its first group; groups may be nested.
func firstBrace(p string) (before string, choices []string, after string, ok bool) {
	start, depth, from := -1, 0, 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth == 0 {
				start, from = i, i+1
			}
			depth++
		case c == ',' && depth == 1:
			choices = append(choices, p[from:i])
			from = i + 1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return p[:start], append(choices, p[from:i]), p[i+1:], true
			}
		}
	}
	return "", nil, "", false
}

// expand returns what parts of a pattern match below dir, sorted.
func expand(dir string, parts []string) ([]string, error) {
	if len(parts) == 0 {
		return []string{dir}, nil
	}
	part, rest := parts[0], parts[1:]
	if part == "**" && len(rest) > 0 {
		return expandDeep(dir, rest)
	}
	if !strings.ContainsAny(part, `*?[\`) {
		next := filepath.Join(dir, part)
		if part == "" {
			next = dir
		}
		if _, err := os.Stat(next); err != nil {
			return nil, nil
		}
		return expand(next, rest)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // as if it were empty
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if name[0] == '.' && part[0] != '.' {
			continue
		}
		ok, err := filepath.Match(part, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		found, err := expand(filepath.Join(dir, name), rest)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// expandDeep is expand for what follows **: in dir and all directories below.
// Links to directories are not followed.
func expandDeep(dir string, rest []string) ([]string, error) {
	out, err := expand(dir, rest)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, nil
	}
	for _, e := range entries {
		if e.Type()&fs.ModeType != fs.ModeDir || e.Name()[0] == '.' {
			continue
		}
		found, err := expandDeep(filepath.Join(dir, e.Name()), rest)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
