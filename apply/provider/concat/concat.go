// Package concat applies resources of the types concat_file and concat_fragment: files that are put together
// from fragments, which any part of the catalog can add.
//
// A concat_file generates the File resource that is written, and a fragment does nothing itself.
package concat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

type fragments struct{}

// Fragment returns the type concat_fragment.
func Fragment() resource.Type { return fragments{} }

// A fragment is one resource.
type fragment struct{ idle }

// New implements resource.Type.
func (fragments) New(r *resource.Resource) (resource.Item, error) {
	_, target := r.Params.Get("target")
	_, tag := r.Params.Get("tag")
	_, content := r.Params.Get("content")
	_, source := r.Params.Get("source")
	order, _, err := r.Text("order")
	switch {
	case err != nil:
		return nil, err
	case !target && !tag:
		return nil, errors.New("one of the parameters target and tag is needed")
	case !content && !source:
		return nil, errors.New("one of the parameters content and source is needed")
	case content && source:
		return nil, &resource.ParamError{Param: "source", Problem: "cannot be used together with content"}
	case strings.ContainsAny(order, ":/\n"):
		return nil, &resource.ParamError{Param: "order", Problem: "cannot have /, : or a line end" + r.Shown("order", order)}
	}
	if content {
		_, is := r.Params.Value("content").(string)
		if !is {
			return nil, &resource.ParamError{Param: "content", Problem: "must be a string"}
		}
		return fragment{}, nil
	}
	sources, _, err := r.Texts("source")
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if r.File == nil && !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "file:///") {
			return nil, &resource.ParamError{Param: "source", Problem: "must be a file of a module or an absolute path" + r.Shown("source", s)}
		}
	}
	return fragment{}, nil
}

// idle is an item without a state of its own.
type idle struct{}

func (idle) Read(context.Context, *resource.Host) error                 { return nil }
func (idle) Plan() ([]resource.Change, error)                           { return nil, nil }
func (idle) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

type files struct{}

// File returns the type concat_file.
func File() resource.Type { return files{} }

// A file is one resource.
type file struct {
	idle
	r       *resource.Resource
	path    string
	tags    []string
	alpha   bool
	newline bool
	format  string
	force   bool
	empty   bool // an empty file is made, too
	absent  bool
}

// New implements resource.Type.
func (files) New(r *resource.Resource) (resource.Item, error) {
	f := &file{r: r, path: r.Title, format: "plain"}
	for param, to := range map[string]*string{"path": &f.path, "format": &f.format} {
		text, given, err := r.Text(param)
		if err != nil {
			return nil, err
		}
		if given {
			*to = text
		}
	}
	for param, to := range map[string]*bool{"ensure_newline": &f.newline, "force": &f.force, "create_empty_file": &f.empty} {
		var err error
		if *to, err = r.Bool(param, param == "create_empty_file"); err != nil {
			return nil, err
		}
	}
	order, _, err := r.Text("order")
	if err != nil {
		return nil, err
	}
	f.alpha = order == "alpha"
	ensure, _, err := r.Text("ensure")
	if err != nil {
		return nil, err
	}
	f.absent = ensure == "absent"
	f.tags, _, err = r.Texts("tag")
	return f, err
}

// passed are the parameters that the file has from the resource.
var passed = []string{
	"owner", "group", "mode", "replace", "backup", "selinux_ignore_defaults", "selrange", "selrole", "seltype", "seluser",
	"validate_cmd", "show_diff", "noop", "schedule", "loglevel", "audit",
}

// Generate implements resource.Generator.
func (f *file) Generate(ctx context.Context, h *resource.Host) ([]*resource.Resource, error) {
	out := &resource.Resource{Ref: catalog.Ref{Type: "File", Title: f.path}, Params: ordered.Of("path", f.path)}
	for _, p := range passed {
		if v, given := f.r.Params.Get(p); given {
			out.Params.Set(p, v)
		}
	}
	ensure := "file"
	if f.absent {
		ensure = "absent"
	} else {
		content, secret, err := f.content(ctx, h)
		if err != nil {
			return nil, err
		}
		if secret {
			out.Secrets = []string{"content"}
		}
		if content == "" && !f.empty {
			ensure = "absent"
		} else {
			out.Params.Set("content", content)
		}
	}
	out.Params.Set("ensure", ensure)
	return []*resource.Resource{out}, nil
}

// A part is the text of a fragment.
type part struct{ order, name, text string }

// content puts the fragments together. secret is set if one of them is secret.
func (f *file) content(ctx context.Context, h *resource.Host) (text string, secret bool, err error) {
	var parts []part
	for _, r := range h.Declared("Concat_fragment") {
		if !f.has(r) {
			continue
		}
		p := part{order: "10", name: r.Title}
		for param, to := range map[string]*string{"order": &p.order, "name": &p.name} {
			if v, given, err := r.Text(param); err != nil {
				return "", false, err
			} else if given {
				*to = v
			}
		}
		if p.text, err = read(ctx, h, r); err != nil {
			return "", false, fmt.Errorf("%s: %w", r.Ref, err)
		}
		if f.newline && !strings.HasSuffix(p.text, "\n") {
			p.text += "\n"
		}
		secret = secret || r.Secret("content")
		parts = append(parts, p)
	}
	slices.SortStableFunc(parts, f.compare)
	if f.format != "plain" {
		text, err = f.merged(parts)
		if err != nil && secret {
			err = errors.New("the fragments cannot be merged")
		}
		return text, secret, err
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return b.String(), secret, nil
}

// has reports whether a fragment belongs to the file: by the path, the title, or a tag.
func (f *file) has(r *resource.Resource) bool {
	if target, given, _ := r.Text("target"); given && (target == f.path || target == f.r.Title) {
		return true
	}
	tags, _, _ := r.Texts("tag")
	if len(tags) == 0 || len(f.tags) == 0 {
		return false
	}
	return slices.Equal(tags, f.tags) || len(tags) == 1 && slices.Contains(f.tags, tags[0])
}

// compare orders fragments by their order and then by name. Numbers are compared as such unless the order is alpha;
// they come before words.
func (f *file) compare(a, b part) int {
	if f.alpha {
		return cmp.Or(strings.Compare(a.order, b.order), strings.Compare(a.name, b.name))
	}
	return cmp.Or(compareWords(a.order, b.order), compareWords(a.name, b.name))
}

func compareWords(a, b string) int {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// read returns the text of a fragment.
func read(ctx context.Context, h *resource.Host, r *resource.Resource) (string, error) {
	if text, given, err := r.Text("content"); given || err != nil {
		return text, err
	}
	if r.File != nil {
		in, err := h.Content(strings.TrimPrefix(r.File.Sum, "{sha256}"))
		if err != nil {
			return "", fmt.Errorf("the content of its source is not there: %w", err)
		}
		defer in.Close()
		data, err := io.ReadAll(io.LimitReader(in, textfile.Limit+1))
		if err == nil && len(data) > textfile.Limit {
			err = fmt.Errorf("the source is larger than %d MiB", textfile.Limit>>20)
		}
		return string(data), err
	}
	sources, _, err := r.Texts("source")
	for _, s := range sources {
		path := strings.TrimPrefix(s, "file://")
		text, exists, err := textfile.Read(ctx, path)
		if exists || err != nil {
			return text, err
		}
	}
	if err == nil {
		err = &fs.PathError{Op: "read", Path: strings.Join(sources, ", "), Err: os.ErrNotExist}
	}
	return "", err
}

// Watch implements resource.Watcher.
func (f *file) Watch(context.Context, *resource.Host) []resource.Watch { return resource.Paths(f.path) }
