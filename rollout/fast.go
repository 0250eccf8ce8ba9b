package rollout

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"bolt/rollout/quantity"
)

// Most events of a log are about runs on nodes. Encode writes them as flat objects without blanks,
// and the reader for such objects takes a fifth of the time of encoding/json. It returns nil for all
// other texts, which are left to encoding/json.

// fast reads an event of a frequent type. data begins with the key after "type".
func fast(name string, data []byte) Event {
	switch name {
	case "created":
		if c := fastCreated(data); c != nil {
			return c
		}
	case "node_started":
		e := new(NodeStarted)
		if flat(data, func(key []byte, v value) bool {
			switch string(key) {
			case "node":
				return v.text(&e.Node)
			case "attempt":
				return v.number(&e.Attempt)
			case "run":
				return v.text(&e.Run)
			case "session":
				return v.text(&e.Session)
			case "timeout":
				var text string
				if !v.text(&text) {
					return false
				}
				d, err := quantity.ParseDuration(text)
				e.Timeout = d
				return err == nil
			case "noop":
				return v.truth(&e.Noop)
			case "reason":
				return v.text(&e.Reason)
			}
			return false
		}) {
			return e
		}
	case "node_finished":
		e := new(NodeFinished)
		if flat(data, func(key []byte, v value) bool {
			switch string(key) {
			case "node":
				return v.text(&e.Node)
			case "run":
				return v.text(&e.Run)
			case "outcome":
				return v.same((*string)(&e.Outcome), string(OutcomeDone))
			case "reason":
				return v.text(&e.Reason)
			case "changed":
				return v.truth(&e.Changed)
			case "changes":
				return v.number(&e.Changes)
			case "catalog":
				return v.text(&e.Catalog)
			}
			return false
		}) {
			return e
		}
	case "node_ended":
		e := new(NodeEnded)
		if flat(data, func(key []byte, v value) bool {
			switch string(key) {
			case "node":
				return v.text(&e.Node)
			case "state":
				return v.same((*string)(&e.State), string(NodeDone))
			case "outcome":
				return v.same((*string)(&e.Outcome), string(OutcomeDone))
			case "counted":
				return v.truth(&e.Counted)
			case "reason":
				return v.text(&e.Reason)
			}
			return false
		}) {
			return e
		}
	case "node_state":
		e := new(NodeProgress)
		if flat(data, func(key []byte, v value) bool {
			switch string(key) {
			case "node":
				return v.text(&e.Node)
			case "run":
				return v.text(&e.Run)
			case "state":
				return v.same((*string)(&e.State), string(NodeApplying))
			}
			return false
		}) {
			return e
		}
	}
	return nil
}

// A value is the text of a value in JSON: a string without its quotes, or another value.
type value struct {
	bytes  []byte
	quoted bool
}

func (v value) text(to *string) bool {
	*to = string(v.bytes)
	return v.quoted
}

func (v value) truth(to *bool) bool {
	*to = string(v.bytes) == "true"
	return !v.quoted && (*to || string(v.bytes) == "false")
}

func (v value) number(to *int) bool {
	n, err := strconv.Atoi(string(v.bytes))
	*to = n
	return !v.quoted && err == nil && strconv.Itoa(n) == string(v.bytes)
}

// flat calls set for each pair of an object, whose opening brace is missing. It returns false if
// the object is not flat, if a string has an escape, or if set does.
func flat(data []byte, set func(key []byte, v value) bool) bool {
	if !plain(data) {
		return false
	}
	for {
		key, rest, ok := quoted(data)
		if !ok || len(rest) < 2 || rest[0] != ':' {
			return false
		}
		var v value
		if rest = rest[1:]; rest[0] == '"' {
			if v.bytes, rest, v.quoted = quoted(rest); !v.quoted {
				return false
			}
		} else {
			end := bytes.IndexAny(rest, ",}")
			if end < 0 {
				return false
			}
			v.bytes, rest = rest[:end], rest[end:]
		}
		if !set(key, v) || len(rest) == 0 {
			return false
		}
		if rest[0] == '}' {
			return len(rest) == 1
		}
		if rest[0] != ',' {
			return false
		}
		data = rest[1:]
	}
}

// quoted splits a string from the beginning of a plain text.
func quoted(data []byte) (text, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(data[1:], '"')
	if end < 0 {
		return nil, nil, false
	}
	return data[1 : 1+end], data[2+end:], true
}

// plain reports whether a text is UTF-8 without control characters and backslashes. A string in it then has no escapes.
func plain(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	// For eight bytes at once: after a subtraction, the high bit of a byte is set if the byte was smaller.
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		slash := x ^ '\\'*ones
		if ((x-' '*ones)&^x|(slash-ones)&^slash)&highs != 0 {
			return false
		}
	}
	for _, c := range text {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return true
}
