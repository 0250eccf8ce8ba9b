package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bolt/format/fault"
	"bolt/puppet/eval"
)

const (
	// maxRequest bounds a line of --batch: it is held in memory, several times.
	maxRequest = 16 << 20
	// batchSteps ends an expression of --batch that does not terminate. It allows
	// about a second of work.
	batchSteps = 10_000_000
	// batchMemory ends an expression that uses too much memory. Memory of earlier
	// expressions is free by then; loaded modules stay and count.
	batchMemory = 512 << 20
)

// A request is a line of --batch. Other keys in it are ignored.
type request struct {
	Expr *string         `json:"expr"`
	ID   json.RawMessage `json:"id"` // echoed; nil without
}

// Batch evaluates the requests of in, which is called name in errors. It gives
// the Evaluation of each line that is not empty to answer, and calls flush
// before it waits for more lines. If a line has an error or is not a request,
// that is its Evaluation, and Batch continues. plans is set if the rules of
// plans apply.
//
// Batch returns nil at the end of in. Otherwise, it returns the error of
// reading, of answer or of flush, or ctx's cause if ctx ends.
func (l *Evaluator) Batch(ctx context.Context, in io.Reader, name string, plans bool, answer func(*Evaluation) error, flush func() error) error {
	lines := bufio.NewReader(in)
	for n := 1; ctx.Err() == nil; n++ {
		line, long, err := readLine(lines, maxRequest)
		if err != nil && errors.Is(err, context.Cause(ctx)) {
			break // the line is not whole
		}
		if long || len(bytes.TrimSpace(line)) > 0 {
			if err := answer(l.answer(ctx, name, plans, n, line, long)); err != nil {
				return err
			}
		}
		if !holdsLine(lines) { // an editor waits for the answer
			if err := flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return flush()
		case err != nil:
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// answer evaluates the expression of a line.
func (l *Evaluator) answer(ctx context.Context, name string, plans bool, n int, line []byte, long bool) *Evaluation {
	refused := func(r request, what string) *Evaluation {
		e := &Evaluation{ID: compact(r.ID)}
		e.Errors = []Finding{{Level: "error", Kind: "request", Msg: fmt.Sprintf("line %d of %s %s", n, name, what)}}
		return e
	}
	if long {
		return refused(request{}, fmt.Sprintf("is longer than %d MiB", maxRequest>>20))
	}
	if !utf8.Valid(line) { // which encoding/json would mend
		return refused(request{}, "is not UTF-8")
	}
	var r request
	const form = `is not of the form {"expr": "…"}`
	if err := json.Unmarshal(line, &r); err != nil {
		what := form
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			what += ": " + bad.Error()
		} else if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			subject := "it"
			if bad.Field != "" {
				subject = bad.Field
			}
			kind, _, _ := strings.Cut(bad.Value, " ") // "number 1.5" of one
			what += fmt.Sprintf(": %s is %s %s", subject, article(kind), kind)
		}
		return refused(r, what)
	}
	if r.Expr == nil {
		return refused(r, form+": it has no expr")
	}
	e := l.evaluate(ctx, Source{Text: *r.Expr, Plans: plans}, eval.Limits{Steps: batchSteps, Memory: batchMemory})
	e.ID = compact(r.ID)
	return e
}

// article returns the indefinite article for a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an"
	}
	return "a"
}

// compact returns JSON on one line; nil for nil.
func compact(text json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil // it was part of what has been read as JSON
	}
	return b.Bytes()
}

// readLine reads a line. It drops a line that is longer than most bytes, and
// sets long.
func readLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// holdsLine reports whether a whole line can be read without waiting.
func holdsLine(r *bufio.Reader) bool {
	held, _ := r.Peek(r.Buffered())
	return bytes.IndexByte(held, '\n') >= 0
}
