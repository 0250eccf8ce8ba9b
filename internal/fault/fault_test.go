package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"bolt/internal/ordered"
)

func TestJSON(t *testing.T) {
	tests := []struct {
		name string
		err  *Error
		want string
	}{
		{"plain", New("bolt/cli-error", "no <%s>", "x"), `{"kind":"bolt/cli-error","msg":"no <x>","details":{}}`},
		{"all", &Error{Kind: "k", Msg: "m", Code: "C", Details: ordered.Of("path", "p")}, `{"kind":"k","msg":"m","details":{"path":"p"},"issue_code":"C"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.err.MarshalJSON()
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			if !json.Valid(got) {
				t.Error("not JSON")
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	cause := &Error{Kind: "bolt/file-error", Msg: "gone", Err: fs.ErrNotExist}
	err := fmt.Errorf("outer: %w", cause)
	if got := KindOf(err); got != "bolt/file-error" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if KindOf(fs.ErrNotExist) != "" || KindOf(nil) != "" {
		t.Error("a kind out of nothing")
	}
}
