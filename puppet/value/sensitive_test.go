package value

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSensitiveShowsNothing(t *testing.T) {
	s := NewSensitive(String("hunter2"))
	in := struct {
		S  *Sensitive
		V  Value
		Sl []*Sensitive
	}{s, s, []*Sensitive{s}}
	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T", "%U", "%p", "%10v", "%-4.1s"} {
		out = append(out, fmt.Sprintf(verb, s), fmt.Sprintf(verb, in.Sl), fmt.Sprintf(verb, []Value{s}))
	}
	for _, v := range []any{s, in, map[string]*Sensitive{"a": s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		out = append(out, string(b))
	}
	b, err := xml.Marshal(in.S)
	if err != nil {
		t.Error(err)
	}
	var log, g bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "v", in.V)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "v", in.V)
	if err := gob.NewEncoder(&g).Encode(s); err != nil {
		t.Error(err)
	}
	out = append(out, string(b), log.String(), g.String(), s.String(), ToString(s), Inspect(s), Inspect(NewArray(s)), TypeString(Infer(s)),
		Mismatch("p", anyInteger, s), Mismatch("p", newSensitiveType(anyInteger), s), Mismatch("p", newArrayType(anyInteger, nil), NewArray(s)))
	for _, text := range out {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("shows what is hidden: %s", text)
		}
	}
	if s.Unwrap() != Value(String("hunter2")) {
		t.Error("what is hidden is lost")
	}
}
