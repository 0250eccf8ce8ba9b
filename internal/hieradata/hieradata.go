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
	"os"
	"path/filepath"
	"syscall"

	"bolt/internal/eyaml"
	"bolt/internal/hocon"
	"bolt/internal/ordered"
	"bolt/internal/valuedata"
	"bolt/internal/yaml"
	"bolt/puppet/hiera"
	"bolt/puppet/value"
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
		YAML: func(text []byte, file string) (value.Value, error) {
			v, err := yaml.DecodeData(text, file)
			return data(v, file, err)
		},
		Config: func(text []byte, file string) (value.Value, hiera.Locator, error) {
			plain, at, err := yaml.DecodeLocated(text, file)
			v, err := data(plain, file, err)
			return v, at, err
		},
		JSON: func(text []byte, file string) (value.Value, error) {
			v, err := ordered.ParseJSON(blankComments(text))
			if err != nil {
				return nil, &hiera.Error{Kind: "data", File: file, Msg: err.Error(), Err: err}
			}
			return data(v, file, nil)
		},
		HOCON: func(text []byte, file string) (value.Value, error) {
			v, err := hocon.Decode(text, file, hocon.Options{Getenv: from.Getenv})
			return data(v, file, err)
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

// data is what was decoded as a value. The decoder's error tells the file.
func data(v any, file string, err error) (value.Value, error) {
	if err != nil {
		return nil, err
	}
	d, err := valuedata.WithSymbols(v, symbol)
	if err != nil {
		return nil, &hiera.Error{Kind: "data", File: file, Msg: err.Error(), Err: err}
	}
	return d, nil
}

// symbol is what a symbol of YAML is in data.
func symbol(name string) value.Value {
	switch name {
	case "default":
		return value.Default{}
	case "undef":
		return value.Undef{}
	}
	return &value.Runtime{Runtime: "ruby", Name: "Symbol", Value: name}
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
