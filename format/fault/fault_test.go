package fault

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"bolt/format/ordered"
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

func TestFile(t *testing.T) {
	_, cause := os.Open("/nonexistent/x")
	err := error(File("/nonexistent/x", cause, "The script '%s' is unreadable: %v", "/nonexistent/x", WithoutPath(cause)))
	if got, want := err.Error(), "The script '/nonexistent/x' is unreadable: no such file or directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	f := err.(*Error)
	if f.Kind != "bolt/file-error" || f.Details.Value("path") != "/nonexistent/x" {
		t.Errorf("got %+v", f)
	}
	if f := File("p", nil, "no"); f.Unwrap() != nil {
		t.Errorf("a cause out of nothing: %v", f.Err)
	}
	if other := errors.New("other"); WithoutPath(other) != other || WithoutPath(nil) != nil {
		t.Error("an error of another kind is changed")
	}
}
