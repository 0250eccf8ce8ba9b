// Package hieradata reads hiera's files from the operating system: it supplies
// all of [hiera.Options] except names.
//
//	o := hieradata.Options(hieradata.Source{Getenv: os.LookupEnv})
//	o.Global = "/project/hiera.yaml"
//	h := hiera.New(o)
//
// The formats are those of packages yaml, hocon and eyaml of this module, and
// JSON.
package hieradata

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"bolt/format/hocon"
	"bolt/format/valuedata"
	"bolt/format/yaml"
	"bolt/internal/readfile"
	"bolt/puppet/hiera"
	"bolt/puppet/value"
	"bolt/secret/eyaml"
)

// A Source supplies data that is not in files.
type Source struct {
	// Getenv returns environment variables for HOCON's substitutions and
	// eyaml's keys; nil: there are none.
	Getenv func(name string) (string, bool)
	// Dir is the directory that paths of eyaml's keys are relative to; "" for
	// the working directory.
	Dir string
}

// Options returns options that read files of the operating system. The caller
// sets the names of layers.
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
			v, err := value.FromRubyJSON(text)
			if e, ok := errors.AsType[*value.JSONError](err); ok {
				return nil, &hiera.Error{Kind: "data", File: file, Line: e.Line, Column: e.Column, Msg: e.Problem.Msg, Err: err}
			}
			return v, err
		},
		HOCON: func(text []byte, file string) (value.Value, error) {
			v, err := hocon.Decode(text, file, hocon.Options{Getenv: from.Getenv})
			return data(v, file, err)
		},
		Eyaml: func(ctx context.Context, options map[string]string) (func(string) (string, error), error) {
			keys, err := eyaml.Open(ctx, options, eyaml.Source{
				ReadFile: func(ctx context.Context, path string) ([]byte, error) {
					if from.Dir != "" && !filepath.IsAbs(path) {
						path = filepath.Join(from.Dir, path)
					}
					return readfile.Read(ctx, path, readfile.Key)
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

// data converts decoded data to a value.
func data(v any, file string, err error) (value.Value, error) {
	if err != nil {
		return nil, placed(err)
	}
	d, err := valuedata.WithSymbols(v, symbol)
	if err != nil {
		return nil, &hiera.Error{Kind: "data", File: file, Msg: err.Error(), Err: err}
	}
	return d, nil
}

// placed returns the error of a decoder as an error of hiera, with its
// position.
func placed(err error) error {
	if e, ok := errors.AsType[*yaml.Error](err); ok {
		return &hiera.Error{Kind: "data", File: e.File, Line: e.Line, Column: e.Column, Msg: e.Problem, Err: err}
	}
	if e, ok := errors.AsType[*hocon.Error](err); ok {
		return &hiera.Error{Kind: "data", File: e.File, Line: e.Line, Msg: e.Problem, Err: err}
	}
	return err
}

// symbol returns a YAML symbol as data.
func symbol(name string) value.Value {
	switch name {
	case "default":
		return value.Default{}
	case "undef":
		return value.Undef{}
	}
	return &value.Runtime{Runtime: "ruby", Name: "Symbol", Value: name}
}

// Files are the files of the operating system.
type Files struct{}

// Stat implements hiera.Files.
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

// ReadFile implements hiera.Files.
func (Files) ReadFile(ctx context.Context, path string) ([]byte, error) {
	return readfile.Read(ctx, path, readfile.Language)
}
