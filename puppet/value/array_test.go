package value

import (
	"errors"
	"testing"
)

func TestFlattenDeepArrays(t *testing.T) {
	deep := Value(Int(1))
	for range 1_000_000 {
		deep = NewArray(deep)
	}
	list := []Value{NewArray(Int(1), NewArray(NewArray(), String("a")), Int(2)), NewHash(), deep}
	if got := NewArray(Flatten(list)...); Inspect(got) != "[1, 'a', 2, {}, 1]" {
		t.Errorf("got %s", Inspect(got))
	}
	if got := Flatten(list[1:2]); &got[0] != &list[1] {
		t.Error("a list without arrays is copied")
	}
}

func TestInspectShortIsBounded(t *testing.T) {
	row := NewArray(String("abcdefgh"), String("äbc"))
	if s := InspectShort(row, 13); s != "['abcdefgh', …" {
		t.Errorf("got %q", s)
	}
	if s := InspectShort(row, 15); s != "['abcdefgh', '…" {
		t.Errorf("cut within a character: %q", s)
	}
	if s := InspectShort(row, 20); s != Inspect(row) {
		t.Errorf("got %q", s)
	}
	re, err := NewRegexp("abcde")
	if err != nil {
		t.Fatal(err)
	}
	tooMuch := errors.New("too much")
	fits := func(bytes int) error {
		if bytes > 4 {
			return tooMuch
		}
		return nil
	}
	for _, v := range []Value{row, String("abcde"), re, NewHash(Entry{row, row})} {
		if s, err := RubyText(v, fits); s != "" || !errors.Is(err, tooMuch) {
			t.Errorf("RubyText: %q, %v", s, err)
		}
		if _, err := Sprintf("%s", []Value{v}, fits); !errors.Is(err, tooMuch) {
			t.Errorf("Sprintf: %v", err)
		}
	}
	if s, err := RubyText(String("abcd"), fits); s != "abcd" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
}
