package value

import "testing"

func TestFixedEncoding(t *testing.T) {
	for src, want := range map[string]string{
		`é`: `/(?-mix:é)/`, `a/é`: `/(?-mix:a\/é)/`, `\p{L}`: `/(?-mix:\p{L})/`, `\P{L}`: `/(?-mix:\P{L})/`,
		`\u00e9`: `/(?-mix:\u00e9)/`, `\u{41 e9}`: `/(?-mix:\u{41 e9})/`, `\u0041`: `/\u0041/`, `\u{41 42}é?`: `/(?-mix:\u{41 42}é?)/`,
		`\x41`: `/\x41/`, `\\p{`: `/\\p{/`, `[[:alpha:]]`: `/[[:alpha:]]/`, `\\é`: `/(?-mix:\\é)/`,
	} {
		r, err := NewRegexp(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := ToString(r); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
		if got := TypeString(Infer(r)); got != "Regexp["+want+"]" {
			t.Errorf("%s: got the type %s", src, got)
		}
	}
}
