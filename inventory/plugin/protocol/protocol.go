// Package protocol defines the JSON that bolt and a plugin program exchange:
// one request on the program's standard input, one response on its standard
// output. docs/plugins-own.md describes it for authors of programs.
//
// bolt calls WriteRequest and ReadResponse; a program in Go calls ReadRequest
// and WriteResponse. A response comes from a program that is not trusted, so
// ReadResponse limits its size, its depth and the number of its values before
// it decodes it.
package protocol

import (
	"errors"
	"fmt"
	"time"

	"bolt/format/ordered"
)

// Version is the version of the protocol. A request and its response carry it.
const Version = 1

// Limits.
const (
	MaxBytes = 64 << 20 // of a request, and of a response

	maxDepth    = 100     // levels of lists and maps in each
	maxValues   = 4 << 20 // values in each; a decoded value needs 100 to 400 bytes
	maxWarnings = 100
	maxText     = 4 << 10 // bytes of an error's text, a hint, a warning or a description
)

// The requests.
const (
	Describe         = "describe"          // the plugin's description and capabilities
	ResolveReference = "resolve_reference" // the value of a reference
)

// The keys of requests and responses.
const (
	keyProtocol = "protocol"

	keyRequest   = "request"
	keyPlugin    = "plugin"
	keyReference = "reference"
	keyConfig    = "config"
	keyProject   = "project"
	keyTimeout   = "timeout"

	keyValue        = "value"
	keySensitive    = "sensitive"
	keyMarks        = "marks"
	keyDescription  = "description"
	keyCapabilities = "capabilities"
	keyWarnings     = "warnings"
	keyError        = "error"

	keyID      = "id"
	keyMessage = "message"
	keyKind    = "kind"
	keyHint    = "hint"

	// mark is the only key of a map that represents a secret.
	mark = "_sensitive"
)

// A Request is the input of a program. Reference and Config can hold secrets in
// clear. They are nil in a Describe request.
type Request struct {
	Request   string // Describe or ResolveReference
	Plugin    string // name of the plugin
	Reference *ordered.Map
	Config    *ordered.Map // the plugin's configuration in bolt-project.yaml
	Project   string       // directory that relative paths are relative to
	Timeout   time.Duration
}

// A Response is the output of a program.
type Response struct {
	// Value is the value of a reference. A transport.Secret in it is a string
	// that bolt redacts.
	Value any
	// Description is one sentence for lists, and Capabilities are the requests
	// that the program answers. Only a response to Describe has them.
	Description  string
	Capabilities []string
	Warnings     []Warning
	// Err is set if the program could not answer; then only Warnings can also be
	// set.
	Err *Error
}

// A Warning is a message to the user. The setting disable-warnings can contain
// its ID.
type Warning struct{ ID, Text string }

// An Error is the error that a program reports. KindInvalid marks an error in
// the reference or the configuration.
type Error struct{ Kind, Text, Hint string }

// The kinds of errors that bolt handles differently.
const (
	KindInvalid = "bolt/validation-error"
	KindPlugin  = "bolt/plugin-error"
)

// checked decodes a document. It returns an error unless the document is within
// the limits and is an object with this version of the protocol. Errors do not
// quote the document, because it can contain secrets.
func checked(data []byte) (*ordered.Map, error) {
	if err := bounded(data); err != nil {
		return nil, err
	}
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, errors.New("it is not one JSON document")
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	version, ok := m.Get(keyProtocol)
	switch {
	case !ok:
		return nil, fmt.Errorf("it has no '%s': %d", keyProtocol, Version)
	case version != int64(Version):
		return nil, fmt.Errorf("its '%s' is not %d, the only supported version", keyProtocol, Version)
	}
	return m, nil
}

// bounded rejects a document that would cost too much to decode. It counts
// brackets and commas outside of strings, without decoding.
func bounded(data []byte) error {
	if len(data) > MaxBytes {
		return fmt.Errorf("it has more than %d MiB", MaxBytes>>20)
	}
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
			values++
		case c == ']', c == '}':
			depth--
		case c == ',':
			values++
		}
		if depth > maxDepth {
			return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
		}
		if values > maxValues {
			return fmt.Errorf("it has more than %d values", maxValues)
		}
	}
	return nil
}
