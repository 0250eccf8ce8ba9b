package frame_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/catalog"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	w := frame.NewWriter(&b)
	large := bytes.Repeat([]byte("x"), 3<<20)
	sum := strings.Repeat("0a", 32)
	b.WriteString("noise")
	for _, err := range []error{w.Greet("id"), w.Message(frame.TypeNeed, &frame.Need{Catalog: true}), w.Content(sum, large), w.Raw(frame.TypeCatalog), w.Raw(frame.TypeHello, make([]byte, 2<<20)), w.Content("xx", nil)} {
		if err != nil && !errors.Is(err, frame.ErrLong) && !strings.Contains(err.Error(), "SHA-256") {
			t.Fatal(err)
		}
	}
	r := frame.NewReader(&b)
	if before, err := r.Skip("id"); string(before) != "noise\n" || err != nil {
		t.Errorf("%q, %v", before, err)
	}
	var need frame.Need
	if typ, body, err := r.Next(); typ != frame.TypeNeed || err != nil || frame.Decode(typ, body, &need) != nil || !need.Catalog {
		t.Errorf("%v %q %v", typ, body, err)
	}
	typ, body, err := r.Next()
	if err != nil || typ != frame.TypeContent {
		t.Fatal(typ, err)
	}
	if got, data, err := frame.ParseContent(body); got != sum || !bytes.Equal(data, large) || err != nil {
		t.Errorf("%s, %d bytes, %v", got, len(data), err)
	}
	if typ, body, err := r.Next(); typ != frame.TypeCatalog || len(body) != 0 || err != nil {
		t.Errorf("%v %q %v", typ, body, err)
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

func TestSkip(t *testing.T) {
	for text, want := range map[string]error{
		"":                             frame.ErrNoGreeting,
		"bolt-frames other\n":          frame.ErrNoGreeting,
		strings.Repeat("x", 1<<20):     frame.ErrNoise,
		strings.Repeat("x\n", 1<<19):   frame.ErrNoise,
		"x" + frame.Greeting("id"):     nil,
		"\n\n" + frame.Greeting("id"):  nil,
		"x\ny" + frame.Greeting("idx"): frame.ErrNoGreeting,
	} {
		if before, err := frame.NewReader(strings.NewReader(text)).Skip("id"); err != want || err == nil && text != string(before)+frame.Greeting("id") {
			t.Errorf("%.20q: %.20q, %v", text, before, err)
		}
	}
}

func TestPack(t *testing.T) {
	if r, err := frame.Unpack(strings.NewReader("")); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := frame.Unpack(strings.NewReader("not compressed")); err == nil {
		t.Error("no error")
	}
	p := frame.NewPacker()
	if err := p.Raw(frame.TypeCatalog, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	text, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		r, err := frame.Unpack(bytes.NewReader(text[:n]))
		for err == nil && r != nil {
			_, _, err = r.Next()
		}
		if n > 0 && (err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("the first %d of %d bytes: %v", n, len(text), err)
		}
	}
}

func TestResult(t *testing.T) {
	in := &report.Result{Ref: catalog.Ref{Type: "File", Title: "/a[b]"}, Status: report.Failed, Refreshed: true, Reason: "r", Generated: true, Parent: catalog.Ref{Type: "File", Title: "/"},
		Events: []report.Event{{Property: "mode", Outcome: report.Failure, Is: "1", Should: "2", Message: "m", Diff: "d", Time: time.Unix(5, 0).UTC()}}, Start: time.Unix(4, 0).UTC(), Took: time.Second}
	out, err := frame.FromReport(in).Report()
	if err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%+v, %v\nwant %+v", out, err, in)
	}
	long := strings.Repeat("\x00", 1<<14)
	for range 100 {
		in.Events = append(in.Events, report.Event{Outcome: report.Success, Is: long, Should: long, Message: long, Diff: long})
	}
	r := frame.FromReport(in)
	w := frame.NewWriter(io.Discard)
	if err := w.Message(frame.TypeEvent, r); !errors.Is(err, frame.ErrLong) {
		t.Errorf("%v", err)
	}
	r.Shorten()
	if err := w.Message(frame.TypeEvent, r); err != nil || len(in.Events) != 101 || in.Events[1].Diff != long {
		t.Errorf("%v", err)
	}
}

// FuzzReader reads any bytes. What it reads is a part of them.
func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	if err := frame.NewWriter(&b).Message(frame.TypeLog, &report.Log{Message: "x"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\xff\xff\xff\xffE"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := frame.NewReader(bytes.NewReader(text))
		size := 0
		for {
			typ, body, err := r.Next()
			if err != nil {
				break
			}
			if size += 5 + len(body); size > len(text) {
				t.Fatal("more than there is")
			}
			_ = frame.Decode(typ, body, new(frame.Fate))
			_, _, _ = frame.ParseContent(body)
		}
		if z, err := frame.Unpack(bytes.NewReader(text)); err == nil && z != nil {
			for err == nil {
				_, _, err = z.Next()
			}
		}
	})
}
