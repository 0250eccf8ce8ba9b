package factcache

import (
	"strings"
	"testing"

	"bolt/format/ordered"
)

func TestPath(t *testing.T) {
	facts := ordered.Of("os", ordered.Of("name", "Debian"), "a.b", ordered.Of("/srv", int64(1), "it's", int64(2)), "list", []any{"x", []any{"y"}}, "", int64(3))
	for text, want := range map[string]any{
		"os.name": "Debian", "os.name.x": nil, "os[0]": nil, "absent": nil, "absent.x": nil,
		`"a.b"./srv`: int64(1), `'a.b'."it's"`: int64(2), "list[0]": "x", "list[1][0]": "y", "list[2]": nil, "list.x": nil, `""`: int64(3), "list[0].x": nil, `"a.b"["/srv"]`: int64(1), "os['name']": "Debian",
	} {
		p, err := ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.In(facts); got != want || p.String() != text {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	if p, err := ParsePath(`"a.b".c`); err != nil || p.Fact() != "a.b" {
		t.Error(p.Fact(), err)
	}
	for text, want := range map[string]string{
		"": "a fact at character 1", ".x": "a fact at character 1", "x.": "a fact at character 3", "x..y": "a fact at character 3", "[0]": "a fact at character 1",
		"x[": "[0], at character 2", "x[y]": "[0], at character 2", "x[-1]": "[0], at character 2", "x['y'": `expected "]" at character 6`, `x["y`: "quotes that begin at character 3", "x]": `"[" at character 2`, `"x`: "quotes that begin at character 1", `"x"y`: `"[" at character 4`,
	} {
		if _, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
