// Package hosttest applies small catalogs in tests of resource types.
package hosttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Host is a host whose system files are below a temporary directory.
func Host(t *testing.T) *resource.Host {
	t.Helper()
	h := resource.NewHost()
	h.Root, h.State = t.TempDir(), t.TempDir()
	h.Diffs = true
	return h
}

// Apply applies resources, each written as Type[title] {JSON of the parameters}. It returns a line for each resource that is
// not unchanged: its reference, its status, and its events.
func Apply(t *testing.T, h *resource.Host, types map[string]resource.Type, noop bool, resources ...string) string {
	t.Helper()
	out, err := Try(t, h, types, noop, resources...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Apply for catalogs that can be refused.
func Try(t *testing.T, h *resource.Host, types map[string]resource.Type, noop bool, resources ...string) (string, error) {
	t.Helper()
	c := &catalog.Catalog{}
	for _, text := range resources {
		typ, rest, _ := strings.Cut(text, "[")
		title, params, _ := strings.Cut(rest, "]")
		r := &catalog.Resource{Kind: catalog.KindType, Ref: catalog.Ref{Type: typ, Title: title}, Params: &ordered.Map{}}
		if params = strings.TrimSpace(params); params != "" {
			v, err := ordered.ParseJSON([]byte(params))
			if err != nil {
				t.Fatal(err)
			}
			for k, p := range v.(*ordered.Map).All() {
				if m, is := p.(*ordered.Map); is && m.Value("sensitive") != nil {
					p = m.Value("sensitive")
					r.Sensitive = append(r.Sensitive, k)
				}
				r.Params.Set(k, p)
			}
		}
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	run, err := apply.Prepare(c, h, apply.Options{Types: types, Noop: noop})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	_, err = run.Apply(t.Context(), func(r *report.Result) {
		if r.Status == report.Unchanged {
			return
		}
		fmt.Fprintf(&out, "%s %s", r.Ref, r.Status)
		if r.Reason != "" {
			fmt.Fprintf(&out, ": %s", r.Reason)
		}
		for _, e := range r.Events {
			switch {
			case e.Outcome == report.NoopOut && e.Is == "" && e.Should == "":
				fmt.Fprintf(&out, ": %s", e.Message)
			case e.Outcome == report.Failure:
				fmt.Fprintf(&out, " FAILED %s", e.Message)
			case e.Property == "ensure" || e.Name == "refresh":
				fmt.Fprintf(&out, " %s", e.Name)
			default:
				fmt.Fprintf(&out, " %s(%s -> %s)", e.Property, e.Is, e.Should)
			}
		}
		out.WriteByte('\n')
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), nil
}

// Write writes a file with exactly this mode, and the directories above it.
func Write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
