package main

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
	"bolt/internal/readfile"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/run"
)

const (
	// maxRequest bounds a line of --batch: it is held in memory, several times.
	maxRequest = 16 << 20
	// batchSteps ends an expression of --batch that would not end. It is about a
	// second of work; a program of its own may take longer.
	batchSteps = 10_000_000
	// batchMemory ends one that keeps too much. What the one before kept is gone
	// by then; what was read of modules stays, and counts.
	batchMemory = 512 << 20
)

// A request is a line of --batch. What else is in it is passed over.
type request struct {
	Expr *string         `json:"expr"`
	ID   json.RawMessage `json:"id"` // echoed; nil without
}

// batch evaluates the expressions of a file, each on its own, and answers each
// line that is not empty with one line. That one of them is an error, or no
// request at all, is an answer, and no failure.
func (l *language) batch(ctx context.Context, name string) error {
	file := l.app.sys.in
	if name == "-" {
		name = standardInput
	} else {
		f, err := readfile.Open(name)
		if err != nil {
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
		defer f.Close()
		file = f
	}
	in, stop, err := readfile.Wakeable(ctx, file)
	if err != nil {
		return err
	}
	defer stop()
	lines, out := bufio.NewReader(in), bufio.NewWriter(l.app.sys.out)
	for n := 1; ctx.Err() == nil; n++ {
		line, long, err := readLine(lines, maxRequest)
		if long || len(bytes.TrimSpace(line)) > 0 {
			if errors.Is(err, run.ErrStopped) {
				break // it is not whole
			}
			if err := listing.PrintEvaluationLine(out, l.answer(ctx, name, n, line, long)); err != nil {
				return written(err)
			}
		}
		if !holdsLine(lines) { // an editor waits for the answer
			if err := out.Flush(); err != nil {
				return written(err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return written(out.Flush())
		case errors.Is(err, run.ErrStopped):
		case err != nil:
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
	}
	if err := out.Flush(); err != nil {
		return written(err)
	}
	return errPrinted // who stopped it knows
}

// answer evaluates the expression of a line.
func (l *language) answer(ctx context.Context, name string, n int, line []byte, long bool) *listing.Evaluation {
	refused := func(r request, what string) *listing.Evaluation {
		e := &listing.Evaluation{ID: compact(r.ID)}
		e.Errors = []listing.Finding{{Level: "error", Kind: "request", Msg: fmt.Sprintf("line %d of %s %s", n, name, what)}}
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
	e := l.evaluate(ctx, source{text: *r.Expr, plans: l.app.values.on("tasks", false)}, eval.Limits{Steps: batchSteps, Memory: batchMemory})
	e.ID = compact(r.ID)
	return e
}

// article is the indefinite one of a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an"
	}
	return "a"
}

// compact is JSON on one line; nil of nil.
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

// readLine reads a line. Of one that is longer than most bytes nothing is
// kept.
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
