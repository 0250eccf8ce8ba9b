package program

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"bolt/environment"
	"bolt/modules"
)

func TestReadLine(t *testing.T) {
	const most = 5000 // more than a buffer holds
	exact, over := strings.Repeat("a", most-1)+"\n", strings.Repeat("b", most)+"\n"
	r := bufio.NewReader(strings.NewReader("x\n" + exact + over + "\n" + over + "end"))
	for i, want := range []struct {
		line string
		long bool
		err  error
	}{{"x\n", false, nil}, {exact, false, nil}, {"", true, nil}, {"\n", false, nil}, {"", true, nil}, {"end", false, io.EOF}} {
		line, long, err := readLine(r, most)
		if string(line) != want.line || long != want.long || !errors.Is(err, want.err) {
			t.Errorf("line %d is %.20q, %v, %v, want %.20q, %v, %v", i+1, line, long, err, want.line, want.long, want.err)
		}
	}
}

func TestBatchAnswersRequests(t *testing.T) {
	e := NewEvaluator(Options{Environment: environment.Options{Modules: modules.NewPath(modules.Module{})}})
	var got []string
	flushed := 0
	err := e.Batch(t.Context(), strings.NewReader(`{"expr":"1 + 1"}`+"\n\n"+`{"id": 7, "expr":"$x = "}`+"\nno\n"), "requests", false,
		func(e *Evaluation) error {
			text := e.String
			if len(e.Errors) > 0 {
				text = e.Errors[0].Kind
			}
			got = append(got, string(e.ID)+" "+text)
			return nil
		},
		func() error { flushed++; return nil })
	if err != nil || flushed == 0 || strings.Join(got, ";") != " 2;7 unexpected-end; request" {
		t.Errorf("got %q, %v, flushed %d times", got, err, flushed)
	}
}
