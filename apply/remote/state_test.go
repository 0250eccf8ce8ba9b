package remote_test

import (
	"errors"
	"strings"
	"testing"

	"bolt/apply/remote"
)

// TestState: the helper answers with states of this machine, or with the reason for which it has none.
func TestState(t *testing.T) {
	p := newPlace(t)
	list, err := remote.State(t.Context(), p, &p.target, "User", "root")
	if err != nil || len(list) != 1 || list[0].Title != "root" || list[0].Params.Value("uid") != int64(0) || list[0].Params.Value("password") != nil {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = remote.State(t.Context(), p, &p.target, "Group", ""); err != nil || len(list) < 2 {
		t.Errorf("%+v, %v", list, err)
	}
	var failed *remote.FailedError
	if _, err = remote.State(t.Context(), p, &p.target, "File", ""); !errors.As(err, &failed) || !strings.Contains(err.Error(), "a name is needed") {
		t.Errorf("%v", err)
	}
	if _, err = remote.State(t.Context(), p, &p.target, "Unknown", "x"); !errors.As(err, &failed) || !strings.Contains(err.Error(), "does not have the type unknown") {
		t.Errorf("%v", err)
	}
}
