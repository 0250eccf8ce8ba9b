package yaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeNodes(t *testing.T) {
	src := "# é\na: é, \"x\"\nb: [1, 'é', \"\\t\", !!str 5, yes]\r\nc: |\n  $x\n  y\nd: >-\n  f\n  g\n010: {k: }\na: ~\n"
	n, err := DecodeNodes([]byte(src), "f")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var show func(n *Node)
	show = func(n *Node) {
		begin, _, _ := strings.Cut(src[n.Offset:], "\n")
		got = append(got, fmt.Sprintf("%d:%d %d %q %v %.4q", n.Line, n.Column, n.Style, n.Text, n.Value, begin))
		for _, item := range n.Items {
			show(item)
		}
		for _, p := range n.Pairs {
			show(p.Key)
			show(p.Value)
		}
	}
	show(n)
	want := []string{
		`2:1 6 "" <nil> "a: é"`,
		`2:1 0 "a" a "a: é"`, `2:4 0 "é, \"x\"" é, "x" "é, \""`,
		`3:1 0 "b" b "b: ["`, `3:4 5 "" <nil> "[1, "`, `3:5 0 "1" 1 "1, '"`, `3:8 1 "é" é "'é',"`,
		`3:13 2 "\t" 	 "\"\\t\""`, `3:19 1 "5" 5 "!!st"`, `3:28 0 "yes" true "yes]"`,
		`4:1 0 "c" c "c: |"`, `4:4 3 "$x\ny\n" $x` + "\ny\n" + ` "|"`,
		`7:1 0 "d" d "d: >"`, `7:4 4 "f g" f g ">-"`,
		`10:1 0 "010" 8 "010:"`, `10:6 6 "" <nil> "{k: "`, `10:7 0 "k" k "k: }"`, `10:10 0 "" <nil> "}"`,
		`11:1 0 "a" a "a: ~"`, `11:4 0 "~" <nil> "~"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := Decode([]byte(src), "f")
	if err != nil {
		t.Fatal(err)
	}
	got1, _ := json.Marshal(n.Data())
	want1, _ := json.Marshal(data)
	if string(got1) != string(want1) {
		t.Errorf("Data is %s, Decode %s", got1, want1)
	}
}

func TestDecodeNodesBad(t *testing.T) {
	for src, want := range map[string]string{
		"a: [":                    "parse f, line 1",
		"&x a: *x":                "alias",
		"a: 2020-01-01":           "is a date",
		"? [a]\n: b":              "cannot be a key",
		"a: !ruby/object:X {}":    "Ruby object",
		strings.Repeat("[", 1000): "deeper",
	} {
		if strings.HasPrefix(src, "[[") {
			src += strings.Repeat("]", len(src))
		}
		if _, err := DecodeNodes([]byte(src), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %v, want %s", src, err, want)
		}
	}
	if n, err := DecodeNodes([]byte("# nothing\n"), "f"); n != nil || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
}

func TestDecodeTextNodes(t *testing.T) {
	const text = "a: 2026-12-20\nb: 2026-12-20 10:00:00\nc: 5\n"
	n, err := DecodeTextNodes([]byte(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{"2026-12-20", "2026-12-20 10:00:00", int64(5)} {
		if got := n.Pairs[i].Value.Value; got != want {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
	if _, err := DecodeNodes([]byte(text), "f.yaml"); err == nil {
		t.Error("DecodeNodes accepts a date")
	}
}
