package vcsrepo

import (
	"strings"
	"testing"
)

// A revision that is the name of a file only is not checked out.
func TestRevisionOfFile(t *testing.T) {
	s := newSite(t)
	out := s.apply(false, `"ensure":"present","source":"ORIGIN","revision":"docs"`)
	if !strings.Contains(out, "git checkout: exit code 128") {
		t.Error(out)
	}
}
