package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/internal/spelling"
	"bolt/rollout"
	"bolt/rollout/quantity"
)

// Key is the key of the project file under which webhooks are listed.
const Key = "webhooks"

// A Hook is one webhook. Its address and its headers can be secret, so no verb of package fmt prints them.
type Hook struct {
	name    string
	url     *url.URL
	secret  secret
	headers map[string]string
	timeout time.Duration
	types   map[string]bool
}

// String names the webhook in messages: by its place in the list, and the scheme and host of its address.
func (h Hook) String() string { return h.name }

// Format implements fmt.Formatter.
func (h Hook) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(h.name)) }

// id names the webhook in the store. It is that of its address, so another secret or other events do not change it.
func (h *Hook) id() string {
	const digits = 16
	sum := sha256.Sum256([]byte(h.url.String()))
	return hex.EncodeToString(sum[:])[:digits]
}

const (
	all        = "*"
	nodeFailed = "node_failed" // node_ended of nodes that have failed
)

// defaults are the events of a webhook that names none.
func defaults() []string {
	return []string{
		"state", "wave_started", "wave_ended", nodeFailed, "paused", "resumed", "approved", "rejected", "abort_requested",
		"superseded", "rollback_requested", "rollback_started", "rollback_finished", "ended",
	}
}

// wants reports whether the webhook gets an event. state is the key state of the event.
func (h *Hook) wants(kind, state string) bool {
	if h.types[all] || h.types[kind] {
		return true
	}
	if kind != "node_ended" || !h.types[nodeFailed] {
		return false
	}
	switch rollout.NodeState(state) {
	case rollout.NodeFailed, rollout.NodeUnreachable, rollout.NodeTimeout, rollout.NodeLost, rollout.NodeDrifted:
		return true
	}
	return false
}

// The keys of a webhook.
const (
	keyURL     = "url"
	keyEvents  = "events"
	keySecret  = "secret"
	keyHeaders = "headers"
	keyTimeout = "timeout"
)

// Limits of the key timeout.
const (
	defaultTimeout = 15 * time.Second
	maxTimeout     = time.Minute
)

// Read reads the setting, in which references to plugins are resolved. file is the project file, for messages. The error is a
// *fault.Error with all mistakes, and has no value that can be secret.
func Read(setting any, file string) ([]*Hook, error) {
	if setting == nil {
		return nil, nil
	}
	r := &reader{}
	list, is := setting.([]any)
	if !is {
		r.wrong(Key, "must be a list of mappings")
	}
	var hooks []*Hook
	seen := make(map[string]int)
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", Key, i)
		m, is := v.(*ordered.Map)
		if !is {
			r.wrong(at, "must be a mapping with the keys url and secret")
			continue
		}
		h := r.hook(at, m)
		h.name = fmt.Sprintf("webhook %d", i+1)
		if h.url != nil {
			h.name += " (" + h.url.Scheme + "://" + h.url.Host + ")"
			if first, twice := seen[h.id()]; twice {
				r.wrong(at+"."+keyURL, "is the same as that of %s[%d]. List the events of both there", Key, first)
			}
			seen[h.id()] = i
		}
		hooks = append(hooks, h)
	}
	if r.errs != nil {
		return nil, schema.ValidationError(file, r.errs)
	}
	return hooks, nil
}

// reader collects mistakes.
type reader struct{ errs []string }

func (r *reader) wrong(at, format string, args ...any) {
	r.errs = append(r.errs, at+": "+fmt.Sprintf(format, args...))
}

func (r *reader) hook(at string, m *ordered.Map) *Hook {
	h := &Hook{timeout: defaultTimeout, types: make(map[string]bool)}
	known := []string{keyURL, keyEvents, keySecret, keyHeaders, keyTimeout}
	for k := range m.All() {
		if !slices.Contains(known, k) {
			r.wrong(at, "unknown key '%s'%s", k, advice(k, known))
		}
	}
	h.url = r.url(at+"."+keyURL, m.Value(keyURL))
	if text, is := m.Value(keySecret).(string); !is {
		r.wrong(at+"."+keySecret, "is missing. %s", secretHint)
	} else if s, err := parseSecret(text); err != nil {
		r.wrong(at+"."+keySecret, "%v. %s", err, secretHint)
	} else {
		h.secret = s
	}
	r.events(at+"."+keyEvents, m.Value(keyEvents), h)
	r.headers(at+"."+keyHeaders, m.Value(keyHeaders), h)
	switch v := m.Value(keyTimeout).(type) {
	case nil:
	case int64:
		h.timeout = time.Duration(min(max(v, 0), int64(2*maxTimeout/time.Second))) * time.Second
	case string:
		d, err := quantity.ParseDuration(v)
		if err != nil {
			r.wrong(at+"."+keyTimeout, "%v", err)
			return h
		}
		h.timeout = time.Duration(d)
	default:
		h.timeout = 0
	}
	if h.timeout < time.Second || h.timeout > maxTimeout {
		r.wrong(at+"."+keyTimeout, "must be a length of time from 1s to %s, such as 10s", quantity.Duration(maxTimeout))
	}
	return h
}

func (r *reader) url(at string, v any) *url.URL {
	text, is := v.(string)
	if !is {
		r.wrong(at, "is missing, or not a string")
		return nil
	}
	u, err := url.Parse(text) // its error has the address
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		r.wrong(at, "must be an address that begins with https:// or http://")
		return nil
	}
	return u
}

func (r *reader) events(at string, v any, h *Hook) {
	list, is := v.([]any)
	if v == nil {
		for _, name := range defaults() {
			h.types[name] = true
		}
		return
	}
	if !is || len(list) == 0 {
		r.wrong(at, "must be a list of types of events, such as [state, paused], or ['*'] for all of them")
		return
	}
	known := append(rollout.Types(), nodeFailed)
	for i, v := range list {
		name, is := v.(string)
		switch {
		case !is:
			r.wrong(fmt.Sprintf("%s[%d]", at, i), "must be a string")
		case name != all && !slices.Contains(known, name):
			r.wrong(fmt.Sprintf("%s[%d]", at, i), "unknown event type '%s'%s", name, advice(name, known))
		}
		h.types[name] = true
	}
}

// reserved are headers that bolt sets itself.
var reserved = []string{"host", "content-type", "content-length", "transfer-encoding", "connection", "user-agent"}

func (r *reader) headers(at string, v any, h *Hook) {
	m, is := v.(*ordered.Map)
	if v == nil {
		return
	}
	if !is {
		r.wrong(at, "must be a mapping of names to strings")
		return
	}
	h.headers = make(map[string]string, m.Len())
	for name, v := range m.All() {
		text, is := v.(string)
		lower := strings.ToLower(name)
		switch {
		case name == "" || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
			r.wrong(at, "'%s' is not the name of a header", name)
		case slices.Contains(reserved, lower), strings.HasPrefix(lower, "webhook-"):
			r.wrong(at, "the header '%s' cannot be set", name)
		case !is:
			r.wrong(at+"."+name, "must be a string")
		case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
			r.wrong(at+"."+name, "must be one line without control characters")
		}
		h.headers[name] = text
	}
}

// advice is the end of the message about an unknown name.
func advice(name string, known []string) string {
	if near := spelling.Near(name, known); near != "" {
		return fmt.Sprintf(". Did you mean '%s'?", near)
	}
	return ". Known names: " + spelling.Or(known)
}
