package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/puppet/value"
	"bolt/transport"
)

// A result is an event.Result in the form of a journal. safetext writes its
// data and ordered reads it, so that numbers and the order of keys are
// preserved.
type result struct {
	Action  string          `json:"action"`
	Object  string          `json:"object,omitempty"`
	Output  []piece         `json:"output,omitempty"`
	Printed bool            `json:"printed,omitempty"` // there is an Output, which may be empty
	Cut     bool            `json:"cut,omitempty"`     // the Output was truncated
	Code    int             `json:"code,omitempty"`
	Signal  string          `json:"signal,omitempty"`
	Applied *event.Applied  `json:"applied,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Elapsed time.Duration   `json:"elapsed,omitempty"`
	Error   *resultError    `json:"error,omitempty"`
}

// A piece is a piece of output: a string, or bytes that are not valid text.
type piece struct {
	Err   bool   `json:"err,omitempty"` // of standard error
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

type resultError struct {
	Kind    string          `json:"kind,omitempty"`
	Code    string          `json:"code,omitempty"`
	Msg     string          `json:"msg,omitempty"`
	Hint    string          `json:"hint,omitempty"`
	Class   transport.Class `json:"class,omitempty"`
	Command bool            `json:"command,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
	Given   json.RawMessage `json:"given,omitempty"`
}

// hasSecret reports whether data contains a secret, which must not be written.
func hasSecret(v any) bool {
	switch v := v.(type) {
	case *ordered.Map:
		for _, e := range v.All() {
			if hasSecret(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasSecret(e) {
				return true
			}
		}
	case *value.Sensitive, transport.Secret:
		return true
	}
	return false
}

func encodeResult(r *event.Result) (json.RawMessage, error) {
	var errs []error
	data := func(m *ordered.Map) json.RawMessage {
		if m == nil {
			return nil
		}
		var b bytes.Buffer
		errs = append(errs, safejson.Write(&b, m))
		return b.Bytes()
	}
	out := &result{Action: r.Action, Object: r.Object, Printed: r.Output != nil, Cut: r.Output.Cut(), Code: r.Status.Code, Signal: r.Status.Signal, Applied: r.Applied, Value: data(r.Value), Elapsed: r.Elapsed}
	errs = append(errs, r.Output.Each(func(s capture.Stream, text []byte) error {
		p := piece{Err: s == capture.Stderr}
		if utf8.Valid(text) {
			p.Text = string(text)
		} else {
			p.Bytes = bytes.Clone(text)
		}
		out.Output = append(out.Output, p)
		return nil
	}))
	if e := r.Err; e != nil {
		out.Error = &resultError{Kind: e.Kind, Code: e.Code, Msg: e.Msg, Hint: e.Hint, Class: e.Class, Command: e.Command, Details: data(e.Details), Given: data(e.Given)}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return marshal(out)
}

// marshal is like json.Marshal, but does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

func decodeResult(text json.RawMessage, t *inventory.Target, spill *capture.Spill) (*event.Result, error) {
	var in result
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	var errs []error
	data := func(text json.RawMessage) *ordered.Map {
		if text == nil {
			return nil
		}
		v, err := ordered.ParseJSON(text)
		m, ok := v.(*ordered.Map)
		if err == nil && !ok {
			err = fmt.Errorf("%T is not a map", v)
		}
		errs = append(errs, err)
		return m
	}
	r := &event.Result{Target: t, Action: in.Action, Object: in.Object, Status: transport.Status{Code: in.Code, Signal: in.Signal}, Applied: in.Applied, Value: data(in.Value), Elapsed: in.Elapsed}
	if e := in.Error; e != nil {
		r.Err = &event.Error{Kind: e.Kind, Code: e.Code, Msg: e.Msg, Hint: e.Hint, Class: e.Class, Command: e.Command, Details: data(e.Details), Given: data(e.Given)}
		if r.Err.Details == nil {
			r.Err.Details = &ordered.Map{}
		}
	}
	if in.Printed {
		r.Output = capture.New(capture.Options{Spill: spill})
		for _, p := range in.Output {
			stream := capture.Stdout
			if p.Err {
				stream = capture.Stderr
			}
			text := p.Bytes
			if text == nil {
				text = []byte(p.Text)
			}
			if _, err := r.Output.Stream(stream).Write(text); err != nil {
				return nil, err
			}
		}
		if in.Cut {
			r.Output.MarkCut()
		}
		r.Output.Settle()
	}
	return r, errors.Join(errs...)
}
