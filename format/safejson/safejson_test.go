package safejson

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"bolt/format/ordered"
)

func TestWrite(t *testing.T) {
	v := ordered.Of("z", int64(1), "a", []any{nil, true, 1.0, 2.5, 1e20, "x\"\xff"}, "m", &ordered.Map{}, "l", []any{},
		"s", []string{"p", "q"}, "deep", ordered.Of("k", ordered.Of("v", int64(-3))))
	var line, many bytes.Buffer
	if err := Write(&line, v); err != nil {
		t.Fatal(err)
	}
	if want := `{"z":1,"a":[null,true,1.0,2.5,1.0e+20,"x\"\\xFF"],"m":{},"l":[],"s":["p","q"],"deep":{"k":{"v":-3}}}`; line.String() != want {
		t.Errorf("got  %s\nwant %s", &line, want)
	}
	if err := WriteIndented(&many, ordered.Of("a", []any{int64(1), ordered.Of("b", nil)}, "e", []any{}, "o", &ordered.Map{})); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"e\": [\n\n  ],\n  \"o\": {\n  }\n}"; many.String() != want {
		t.Errorf("got  %s\nwant %s", &many, want)
	}
}

// lazy is data that is made when it is written.
type lazy struct {
	v   any
	err error
}

func (l lazy) Data() (any, error) { return l.v, l.err }

func TestLazy(t *testing.T) {
	var line, many bytes.Buffer
	v := []any{lazy{v: ordered.Of("a", lazy{v: int64(1)})}}
	if err := errors.Join(Write(&line, v), WriteIndented(&many, v)); err != nil {
		t.Fatal(err)
	}
	if line.String() != `[{"a":1}]` || many.String() != "[\n  {\n    \"a\": 1\n  }\n]" {
		t.Errorf("got %s and %s", &line, &many)
	}
	broken := errors.New("broken")
	if err := Write(io.Discard, []any{lazy{err: broken}}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
