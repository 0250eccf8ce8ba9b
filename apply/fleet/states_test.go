package fleet

import (
	"strings"
	"testing"

	"bolt/format/ordered"
)

func TestWriteCode(t *testing.T) {
	var b strings.Builder
	writeCode(&b, "Ssh_authorized_key", `it's a \ b`, ordered.Of("type", "x", "options", []any{"a", `b="c"`}, "ensure", "present", "n", int64(-1), "yes", true, "none", nil))
	want := `ssh_authorized_key { 'it\'s a \\ b':
  ensure  => 'present',
  n       => -1,
  none    => undef,
  options => ['a', 'b="c"'],
  type    => 'x',
  yes     => true,
}
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}
