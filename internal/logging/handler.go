package logging

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"bolt/internal/safetext"
)

// sink is one destination. A record reaches it as one Write.
type sink struct {
	level  slog.Level
	layout func(b *bytes.Buffer, r slog.Record, f *fields)

	mu sync.Mutex
	w  io.Writer
}

// handler passes each record to all sinks whose level it reaches.
type handler struct {
	sinks    []*sink
	disabled map[string]bool
	fields   fields
	group    string // "a.b." inside groups a and b
}

// fields holds the attributes of a record: the three that the layouts show,
// and the text of the others, each with a space before it.
type fields struct {
	id, component, target string
	text                  []byte
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	for _, s := range h.sinks {
		if l >= s.level {
			return true
		}
	}
	return false
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.fields.text = bytes.Clone(h.fields.text)
	for _, a := range attrs {
		c.fields.add(h.group, a)
	}
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.group += name + "."
	return &c
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	f := h.fields
	f.text = bytes.Clone(f.text)
	r.Attrs(func(a slog.Attr) bool {
		f.add(h.group, a)
		return true
	})
	if f.id != "" && h.disabled[f.id] && r.Level < slog.LevelError {
		return nil
	}
	r.Message = safetext.TerminalString(r.Message) // texts may come from the target

	var b bytes.Buffer
	var first error
	for _, s := range h.sinks {
		if r.Level < s.level {
			continue
		}
		b.Reset()
		s.layout(&b, r, &f)
		s.mu.Lock()
		_, err := s.w.Write(b.Bytes())
		s.mu.Unlock()
		if first == nil {
			first = err
		}
	}
	return first
}

// consoleLayout is "target: text", without the target where a record has none.
//
// Differs from Bolt: without colours there are no control sequences at all;
// Bolt ends every line with a reset.
func consoleLayout(color bool) func(*bytes.Buffer, slog.Record, *fields) {
	return func(b *bytes.Buffer, r slog.Record, f *fields) {
		start := ""
		if color {
			start = startColor(r.Level)
		}
		b.WriteString(start)
		if f.target != "" {
			b.WriteString(f.target + ": ")
		}
		f.message(b, r)
		if start != "" {
			b.WriteString(reset)
		}
		b.WriteByte('\n')
	}
}

const (
	reset      = "\x1b[0m"
	timeLayout = "2006-01-02T15:04:05.000000"
)

func startColor(l slog.Level) string {
	switch {
	case l >= LevelFatal:
		return "\x1b[37m\x1b[41m" // white on red
	case l >= slog.LevelError:
		return "\x1b[31m" // red
	case l >= slog.LevelWarn:
		return "\x1b[33m" // yellow
	}
	return ""
}

// fileLayout is "time LEVEL  [target] [component] text".
func fileLayout(b *bytes.Buffer, r slog.Record, f *fields) {
	t := r.Time
	if t.IsZero() {
		t = time.Now()
	}
	target, component := f.target, f.component
	if target == "" {
		target = "main"
	}
	if component == "" {
		component = "bolt"
	}
	fmt.Fprintf(b, "%s %-6s [%s] [%s] ", t.Format(timeLayout), strings.ToUpper(levelName(r.Level)), target, component)
	f.message(b, r)
	b.WriteByte('\n')
}

func (f *fields) message(b *bytes.Buffer, r slog.Record) {
	b.WriteString(r.Message)
	if f.id != "" {
		b.WriteString(" [ID: " + f.id + "]")
	}
	b.Write(f.text)
}

func (f *fields) add(group string, a slog.Attr) {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, m := range v.Group() {
			f.add(group, m)
		}
		return
	}
	text := safetext.TerminalString(valueText(v))
	if group == "" {
		switch a.Key {
		case keyID:
			f.id = text
			return
		case keyComponent:
			f.component = text
			return
		case keyTarget:
			f.target = text
			return
		}
	}
	if text == "" || strings.ContainsAny(text, " \t\n\"=") {
		text = strconv.Quote(text)
	}
	f.text = append(f.text, ' ')
	f.text = append(f.text, group...)
	f.text = append(f.text, a.Key...)
	f.text = append(f.text, '=')
	f.text = append(f.text, text...)
}

// valueText formats a value with its own methods, or else as JSON. It never
// uses fmt's %v on a struct, because %v prints unexported fields without
// calling their methods, and would print a secret inside.
func valueText(v slog.Value) (text string) {
	if v.Kind() == slog.KindTime {
		return v.Time().Format(time.RFC3339Nano)
	}
	if v.Kind() != slog.KindAny {
		return v.String()
	}
	defer func() {
		if recover() != nil { // for example a String method of a nil pointer
			text = fmt.Sprintf("!%T", v.Any())
		}
	}()
	switch a := v.Any().(type) {
	case nil:
		return "<nil>"
	case error:
		return a.Error()
	case fmt.Stringer:
		return a.String()
	case encoding.TextMarshaler:
		if t, err := a.MarshalText(); err == nil {
			return string(t)
		}
	}
	j, err := json.Marshal(v.Any())
	if err != nil {
		return fmt.Sprintf("!%T", v.Any())
	}
	return string(j)
}
