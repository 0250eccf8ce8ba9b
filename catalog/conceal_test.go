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
