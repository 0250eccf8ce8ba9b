package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecretShowsNothing prints a Secret in every way that Go has for values.
func TestSecretShowsNothing(t *testing.T) {
	const text = "hunter2"
	s := NewSecret(text)
	holder := struct {
		Name string
		Pass Secret
		In   []Secret
		Ptr  *Secret
	}{"n", s, []Secret{s}, &s}
	var said bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s", "%-.3s"} {
		fmt.Fprintf(&said, verb+"\n", s)
		fmt.Fprintf(&said, verb+"\n", holder)
		fmt.Fprintf(&said, verb+"\n", Dest{Password: s, KeyData: s})
		fmt.Fprintf(&said, verb+"\n", RunAs{Password: s})
	}
	fmt.Fprintln(&said, s, holder, fmt.Errorf("with %v", s))
	for _, h := range []slog.Handler{slog.NewTextHandler(&said, nil), slog.NewJSONHandler(&said, nil)} {
		slog.New(h).Info("m", "s", s, "h", holder)
	}
	out, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	said.Write(out)
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), "hun"} {
		if strings.Contains(said.String(), form) {
			t.Errorf("%q is in:\n%s", form, said.String())
		}
	}
	if s.Reveal() != text || !s.IsSet() || (Secret{}).IsSet() || s != NewSecret(text) {
		t.Error("a secret differs from its text")
	}
}
