package program

import (
	"errors"
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	list := []Input{{Source: Source{Name: "a.pp", Text: "1"}}, {Source: Source{Name: "b.pp", Text: "$x ="}}, {Source: Source{Name: "c.pp"}, Err: errors.New("gone")}}
	var b strings.Builder
	problems, err := Dump(&b, list, false, false)
	if err != nil || len(problems) != 2 || b.String() != "--- a.pp\n1\n" {
		t.Errorf("got %q, %+v, %v", b.String(), problems, err)
	}
	b.Reset()
	if _, err := Dump(&b, list, true, false); err != nil || strings.Count(b.String(), "\n") != 3 || !strings.Contains(b.String(), `{"file":"c.pp","tree":null}`) {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
