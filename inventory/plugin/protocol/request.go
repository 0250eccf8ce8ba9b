package protocol

import (
	"errors"
	"fmt"
	"io"
	"time"

	"bolt/format/ordered"
	"bolt/format/safejson"
)

// WriteRequest writes a request as one line of JSON.
func WriteRequest(w io.Writer, r Request) error {
	m := ordered.Of(keyProtocol, int64(Version), keyRequest, r.Request, keyPlugin, r.Plugin)
	if r.Request == ResolveReference {
		m.Set(keyReference, object(r.Reference))
		m.Set(keyConfig, object(r.Config))
		m.Set(keyProject, r.Project)
	}
	m.Set(keyTimeout, int64(r.Timeout/time.Second))
	if err := safejson.Write(w, m); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func object(m *ordered.Map) *ordered.Map {
	if m == nil {
		return &ordered.Map{}
	}
	return m
}

// ReadRequest reads a request to its end. It ignores unknown keys, because later
// versions of bolt may add some.
func ReadRequest(in io.Reader) (Request, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	if err != nil {
		return Request{}, err
	}
	m, err := checked(data)
	if err != nil {
		return Request{}, fmt.Errorf("the request: %w", err)
	}
	r := Request{Reference: &ordered.Map{}, Config: &ordered.Map{}}
	seconds, _ := m.Value(keyTimeout).(int64)
	r.Timeout = time.Duration(max(0, min(seconds, maxSeconds))) * time.Second
	ok := true
	text := func(to *string, key string) {
		if v, set := m.Get(key); set && ok {
			*to, ok = v.(string)
		}
	}
	text(&r.Request, keyRequest)
	text(&r.Plugin, keyPlugin)
	text(&r.Project, keyProject)
	for key, to := range map[string]**ordered.Map{keyReference: &r.Reference, keyConfig: &r.Config} {
		if v, set := m.Get(key); set && ok {
			*to, ok = v.(*ordered.Map)
		}
	}
	if !ok {
		return Request{}, errors.New("the request: a key has a value of another type")
	}
	return r, nil
}

// maxSeconds is the largest accepted time limit.
const maxSeconds = 1_000_000
