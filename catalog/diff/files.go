package diff

import (
	"fmt"
	"maps"
	"slices"

	"bolt/format/ordered"
)

// fileParams returns the differences between the files of two sources, in the form of
// catalog.SourceFiles: one Param for each path, "(file PATH)".
func fileParams(before, after any) (params []Param) {
	was, is := filesByPath(before), filesByPath(after)
	paths := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		p := Param{Name: "(file " + path + ")"}
		if path == "" || path == "." {
			p.Name = "(file)"
		}
		if f := was[path]; f != nil {
			p.Old = describe(f)
		}
		if f := is[path]; f != nil {
			p.New = describe(f)
		}
		if p.Old != p.New {
			params = append(params, p)
		}
	}
	return params
}

// filesByPath returns the files that are applied: if trees have the same path, the first
// one.
func filesByPath(v any) map[string]*ordered.Map {
	files := make(map[string]*ordered.Map)
	var add func(any)
	add = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				add(x)
			}
		case *ordered.Map:
			if path, _ := v.Value("path").(string); files[path] == nil {
				files[path] = v
			}
		}
	}
	add(v)
	return files
}

// describe returns a file as text.
func describe(f *ordered.Map) string {
	text := fmt.Sprint(f.Value("type"))
	switch text {
	case "file":
		text = fmt.Sprint(f.Value("sum"))
	case "link":
		text += fmt.Sprintf(" to %v", f.Value("destination"))
	}
	if owner := f.Value("owner"); owner != nil {
		text += fmt.Sprintf(", owner %v, group %v, mode %04o", owner, f.Value("group"), f.Value("mode"))
	}
	return text
}
