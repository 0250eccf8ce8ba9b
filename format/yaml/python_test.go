package yaml

import "testing"

func TestDecodePython(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "<nil>"},
		{"booleans", "[yes, On, n, y, FALSE]", `[true true "n" "y" false]`},
		{"whole numbers", "[010, 08, 0x1F, 0b11, 1_000, '1', -7, +5]", `[8 "08" 31 3 1000 "1" -7 5]`},
		{"other numbers", "[1.5, .5, 1e3, 1.0e+3, 1_0.5]", `[1.5 0.5 "1e3" 1000 10.5]`},
		{"sixties", "[12:30, 1:2:3, 08:15, 1:30.5, -1:00, 12:60]", `[750 3723 "08:15" 90.5 -60 "12:60"]`},
		{"texts", `[2026-01-02, ":sym", 1.2.3, 10.0.0.1, "\x41"]`, `["2026-01-02" ":sym" "1.2.3" "10.0.0.1" "A"]`},
		{"a comma", "a: 1,000\nb: :sym", `{"a":"1,000" "b":":sym"}`},
		{"null", "a:\nb: ~\nc: null", `{"a":<nil> "b":<nil> "c":<nil>}`},
		{"keys", "1: a\ntrue: b\n~: c", `{"1":"a" "true":"b" "null":"c"}`},
		{"merge", "a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x}", `{"a":{"k":1 "l":2} "b":{"k":1 "l":3}}`},
		{"tag", "a: !mine |\n  x\nb: !!str 1", `{"a":"mine:x\n" "b":"1"}`},
		{"tag of a list", "a: !mine [1]", `{"a":[1]}`},
		{"end marker", "--- \na: 1\n...\n# end\n", `{"a":1}`},
		{"alias", "a: &x [1]\nb: *x", `{"a":[1] "b":[1]}`},
	} {
		v, err := DecodePython([]byte(c.in), "f.yaml", func(tag, text string) (any, bool) { return "mine:" + text, tag == "!mine" })
		if got := write(v); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	none := func(string, string) (any, bool) { return nil, false }
	for _, in := range []string{"a: !other x", "a: [", "a: &x [*x]", "? [1]\n: 2", "a: 1\n---\nb: 2", "a: 1\n---\n", "[a]\nb", "a: 1\n---\nb: ["} {
		if v, err := DecodePython([]byte(in), "f.yaml", none); err == nil {
			t.Errorf("%q: %v", in, write(v))
		}
	}
}

func FuzzDecodePython(f *testing.F) {
	for _, s := range []string{"a: &x [1]\nb: *x", "1: {2: 3}", "{l: 3, <<: {b: c}}", "- !!binary aGk=", "a: !vault |\n  x\n", "1:2:3.5", "- 0_\n- -0x_"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = DecodePython(data, "f", func(_, text string) (any, bool) { return text, true })
	})
}
