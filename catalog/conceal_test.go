package catalog_test

import (
	"reflect"
	"slices"
	"testing"

	"bolt/catalog"
	"bolt/format/ordered"
)

func TestConceal(t *testing.T) {
	text := `{"name":"n","resources":[{"type":"File","title":"x","parameters":{"content":"a=hush","mode":"abc","owner":"abcd","seltype":["x",{"k":"hush-hush"}],"group":"staff"},"sensitive_parameters":["content"]},{"type":"Class","title":"main"}],"edges":[]}`
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	before := c.Digest()
	c.Conceal(nil)
	if c.Digest() != before {
		t.Error("without secrets, the digest has changed")
	}
	c.Conceal([]string{"", "hush", "abc"})
	if got := c.Resources()[0].Sensitive; !slices.Equal(got, []string{"content", "mode", "seltype"}) {
		t.Errorf("sensitive: %v", got)
	}
	if v := c.Resources()[0].Params.Value("seltype"); !reflect.DeepEqual(v, []any{"x", ordered.Of("k", "hush-hush")}) {
		t.Errorf("the value is %v", v)
	}
}

// Titles and tags cannot be concealed. The names of classes come from code.
func TestExposing(t *testing.T) {
	for resource, want := range map[string]string{
		`{"type":"File","title":"/x","tags":["file"],"parameters":{"content":"hush"}}`: "",
		`{"type":"Exec","title":"login hush"}`:                                         "Exec[login hush]",
		`{"type":"File","title":"/x","tags":["file","hush"]}`:                          "File[/x]",
		`{"type":"Class","title":"Hush::hush","tags":["hush"]}`:                        "",
		`{"type":"File","title":"/abc"}`:                                               "",
	} {
		c, err := catalog.Parse([]byte(`{"name":"n","resources":[` + resource + `],"edges":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r := c.Exposing([]string{"", "hush", "abc"}); r != nil {
			got = r.Ref.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
		if c.Exposing(nil) != nil {
			t.Error("without secrets, a resource was found")
		}
	}
}
