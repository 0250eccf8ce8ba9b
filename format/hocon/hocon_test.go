package hocon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
)

// TestInclude checks that include file("…") is an error.
func TestInclude(t *testing.T) {
	for in, want := range map[string]string{
		`include "x.conf"`:                     "",
		`x { include "x.conf" }`:               "",
		"a = 1\ninclude file(\"/etc/passwd\")": "line 2: include file(…) is refused",
		`x { include file( "a" ) }`:            "include file(…) is refused",
		`include url("http://localhost/x")`:    "include url(…) is refused",
		`include classpath("x")`:               "include classpath(…) is refused",
		`include file("x"`:                     "must be closed",
		`include required(file("x"))`:          "must be followed by a name",
	} {
		_, err := Decode([]byte(in), "f.conf", Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// TestOriginal compares with the results of ruby-hocon 1.3.1 for the same text
// (testdata/cases.jsonl): values with the order of keys, or an error.
func TestOriginal(t *testing.T) {
	file := "testdata/cases.jsonl"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var c struct {
			In    string
			Out   json.RawMessage
			Error bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		got, err := Decode([]byte(c.In), "", Options{})
		if c.Error {
			if err == nil {
				t.Errorf("%q: %s, want an error", c.In, show(t, got))
			}
			continue
		}
		want, perr := ordered.ParseJSON(c.Out)
		if perr != nil {
			t.Fatal(perr)
		}
		if err != nil {
			t.Errorf("%q: %v, want %s", c.In, err, c.Out)
		} else if a, b := show(t, got), show(t, want); a != b {
			t.Errorf("%q: %s, want %s", c.In, a, b)
		}
	}
	if n == 0 {
		t.Fatalf("%s holds no cases", file)
	}
}

func show(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGetenv(t *testing.T) {
	o := Options{Getenv: func(name string) (string, bool) {
		return "/home/" + name, name == "HOME"
	}}
	got, err := Decode([]byte("a = ${HOME}/x, b = ${?NOPE}"), "", o)
	if err != nil || show(t, got) != `{"a":"/home/HOME/x"}` {
		t.Errorf("%s, %v", show(t, got), err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a=1\nb=${nope}", "parse f.conf, line 2: nothing is found for the substitution ${nope}"},
		{"a=1\n\nb", "line 3: the field b must be followed by a : or ="},
		{"a=\"\"\"\n\n\"\"\"\nb=@", "line 4: the character @ is reserved"},
		{"a=${b}\nb=${a}", "leads back to itself"},
		{strings.Repeat("[", 3) + "]", "the root is a list"},
		{"a=" + strings.Repeat("[", 1000), "nested deeper than 200"},
		{strings.Repeat("a{", 1000), "nested deeper than 200"},
		{strings.Repeat("a.", 1000) + "a=1", "nested deeper than 200"},
		{bomb(), "more data, or take more steps, than is allowed"},
		{strings.Repeat("a = ${?a}${?a}\n", 60), "more steps, than is allowed"},
	} {
		_, err := Decode([]byte(c.in), "f.conf", Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q in it", c.in, err, c.want)
		}
	}
}

// TestLinear checks that the time for long text is proportional to its length.
// Each text would take minutes if its repeated parts were read or copied again
// and again.
func TestLinear(t *testing.T) {
	const size = 1 << 17
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	repeated := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, c := range []struct{ name, text, want string }{ //
		{"digits and spaces", "a = " + repeated("1 "), ""},
		{"strings", "a = " + repeated(`"b" `), ""},
		{"substitution and text", "b = 1\na = " + repeated("${b}1 "), ""},
		{"lists", "a = " + repeated("[1] "), ""},
		{"list and text", "a = [1] " + repeated("w "), ""},
		{"objects", "a = " + numbered("{x%d = 1} "), ""},
		{"one object again", numbered("a {x%d = 1}\n"), ""},
		{"paths below one", numbered("a.x%d = 1\n"), ""},
		{"objects on a substitution", "a = ${?z}\n" + numbered("a {x%d = 1}\n"), ""},
		{"substitutions and objects", numbered("a = ${?b} {x%d = 1}\n"), ""},
		{"substituted objects", "b {x = 1}\na = " + repeated("${b}"), ""},
		{"a long key", repeated("1 ") + " = 1", ""},
		{"a key of strings", repeated(`"b"`) + " = 1", ""},
		{"a long path", "a = ${?" + repeated("1 ") + "}", ""},
		{"+=", repeated("a += 1\n"), "lead to others without end"},
		{"on itself", repeated("a = ${?a} 1\n"), "lead to others without end"},
		{"16 MB of digits and spaces", "a = " + strings.Repeat("1 ", 1<<23), "more than 1048576 words"},
		{"the same in a substitution", "a = ${?" + strings.Repeat("1 ", 1<<23) + "}", "more than 1048576 words"},
	} {
		start := time.Now()
		_, err := Decode([]byte(c.text), "", Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %.200v, want %q", c.name, err, c.want)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
	}
}

// TestHidden compares with ruby-hocon 1.3.1 for an object beneath a value that
// an object is on.
func TestHidden(t *testing.T) {
	for text, want := range map[string]string{
		"a {x {p = 1}}\na {x = 5}\na {x {q = 2}}":                                      `{"a":{"x":{"q":2}}}`,
		"a = ${?no} {x {p = 1}}\na = ${?no} {x = 5}\na = ${?no} {x {q = 2}}":           `{"a":{"x":{"q":2,"p":1}}}`,
		"a = ${?no} {x {p = 1}}\na = ${?no} {x = 5}\na = ${?no} {x {q = 2}}\nb=${a.x}": `{"a":{"x":{"q":2,"p":1}},"b":{"q":2,"p":1}}`,
	} {
		m, err := Decode([]byte(text), "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(m); err != nil || string(got) != want {
			t.Errorf("%s\nis %s, %v, want %s", text, got, err, want)
		}
	}
}

// bomb doubles a string forty times.
func bomb() string {
	var b strings.Builder
	b.WriteString("x0 = aaaaaaaaaaaaaaaa\n")
	for i := range 40 {
		x, y := string(rune('a'+i/10)), string(rune('0'+i%10))
		px, py := string(rune('a'+(i-1)/10)), string(rune('0'+(i+9)%10))
		prev := "k" + px + py
		if i == 0 {
			prev = "x0"
		}
		b.WriteString("k" + x + y + " = ${" + prev + "}${" + prev + "}\n")
	}
	return b.String()
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"a=1", "a.b: {c: [1, 2.5, true, null]}", "a=${b} c\nb=x", "a=[1]\na += 2", "p=/usr\np=${p}\":/bin\"",
		"a=\"\"\"x\"\"\"\"", "include file(\"x\")", "a={b:${?a.c}}\na={c:1}", "{\"a\":\"\\u0041\"}", "a=${a.b}\na.b=${a}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := Decode([]byte(s), "", Options{})
		if err != nil {
			return
		}
		if m == nil {
			t.Fatal("no value and no error")
		}
		show(t, m)
	})
}
