package graphviz

import "testing"

func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                 `""`,
		`File["a\N"]`:      `"File[\"a\\N\"]"`,
		"&amp; \n é \xff":  `"&amp;amp; \n é ` + "\uFFFD\"",
		"]; evil [label=x": `"]; evil [label=x"`,
	} {
		if got := Quoted(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestShortened(t *testing.T) {
	for text, want := range map[string]string{"éèê": "éèê", "éèêë": "éè…", "": ""} {
		if got := Shortened(text, 3); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
