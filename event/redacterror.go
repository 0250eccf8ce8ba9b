package event

import (
	"errors"

	"bolt/format/fault"
)

// RedactError returns an error with redacted strings. If the error contains a
// secret, it loses its causes, because --trace prints them, and it loses
// details that contain a secret.
func RedactError(err error, redact func(string) string) error {
	f, ok := errors.AsType[*fault.Error](err)
	secretLine := shows(err, redact)
	if !ok {
		if said := err.Error(); secretLine || redact(said) != said {
			return errors.New(redact(said))
		}
		return err
	}
	open := f.Details == nil || !HasSecret(f.Details, redact)
	if open && !secretLine && redact(f.Msg) == f.Msg && redact(f.Hint) == f.Hint {
		return err
	}
	told := &fault.Error{Kind: f.Kind, Code: f.Code, Msg: redact(f.Msg), Hint: redact(f.Hint)}
	if open {
		told.Details = f.Details
	}
	return told
}

// shows reports whether the excerpt of an error has a secret.
func shows(err error, redact func(string) string) bool {
	const all = 1 << 20
	text := excerptOf(err, all)
	return redact(text) != text
}
