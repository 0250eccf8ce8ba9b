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

// A user who replaces a repository by a link does not get the files of root.
func TestLinkOfUser(t *testing.T) {
	s := newSite(t)
	s.shell(`mkdir "$DIR/home"; git clone -q "$ORIGIN" "$DIR/root"; ln -s ../root "$DIR/home/r"; chown -hR nobody "$DIR/home"`)
	if out := s.apply(false, `"ensure":"present","path":"DIR/home/r","owner":"nobody","source":"ORIGIN","revision":"v1"`); !strings.Contains(out, "link") {
		t.Error(out)
	}
	if got := s.shell(`find "$DIR/root" -user nobody; git -C "$DIR/root" branch --show-current`); got != "main" {
		t.Error(got)
	}
}
