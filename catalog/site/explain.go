package site

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"bolt/catalog/types"
	"bolt/puppet/eval"
)

// explain adds the searched places and a similar name to the error of an unknown name.
func (s *Site) explain(ctx context.Context, err error) error {
	e, is := errors.AsType[*eval.Error](err)
	if !is || ctx.Err() != nil {
		return err
	}
	switch e.Kind {
	case "unknown-class":
		if _, known := s.names.Modules.Module(e.Name); !known && !strings.Contains(e.Name, "::") {
			e.Msg += ": could not find a module " + e.Name + " in " + strings.Join(s.names.Modulepath, string(filepath.ListSeparator))
		}
		e.Msg += s.names.Advise(ctx, e.Name, "manifests", func() []string { return append(s.modules(), s.defined(eval.KindClass)...) })
	case "unknown-resource-type":
		e.Msg += s.names.Advise(ctx, e.Name, "manifests", func() []string { return append(s.rubyTypes(), s.defined(eval.KindDefine)...) })
	default:
		e.Msg = s.names.Explain(ctx, e)
	}
	return err
}

// defined returns the names that the main manifests define.
func (s *Site) defined(kind eval.Kind) (names []string) {
	for _, p := range s.programs {
		for _, d := range eval.Definitions(p, "") {
			if d.Kind == kind {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

// modules returns the names of the modules, which can be names of classes.
func (s *Site) modules() (names []string) {
	for _, m := range s.names.Modules.All() {
		names = append(names, m.Name)
	}
	return names
}

// rubyTypes returns the names of the types of Puppet and of the types that modules define
// in Ruby.
func (s *Site) rubyTypes() []string {
	names := types.Names()
	for _, m := range s.names.Modules.All() {
		files, _ := m.ReadDir("lib/puppet/type") // a module without types has no such directory
		for _, f := range files {
			if name, is := strings.CutSuffix(f.Name(), ".rb"); is {
				names = append(names, name)
			}
		}
	}
	return names
}
