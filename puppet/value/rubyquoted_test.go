package value

import "testing"

// TestRubyQuoted has recorded results of inspect in Ruby 3.1.
func TestRubyQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"\u007f": `"\u007F"`, "\u0085": "\"\u0085\"", "\u0080\u009f": `"\u0080\u009F"`, "\u00ad\u200b\ue000": "\"\u00ad\u200b\ue000\"",
		"\x01\n\x1b": `"\u0001\n\e"`, "\xff": `"\xFF"`,
	} {
		if got, err := Sprintf("%p", []Value{String(in)}, nil); err != nil || got != want {
			t.Errorf("%+q is %s, %v, want %s", in, got, err, want)
		}
	}
}
