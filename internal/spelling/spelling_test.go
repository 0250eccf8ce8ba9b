package spelling

import "testing"

func TestNear(t *testing.T) {
	names := []string{"package", "service", "status", "show"}
	for word, want := range map[string]string{
		"pakage": "package", "packgae": "package", "servcie": "service", "shwo": "show", "show": "show",
		"nothing": "", "s": "", "": "", "stauts": "status", "sta": "",
	} {
		if got := Near(word, names); got != want {
			t.Errorf("Near(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"ab", "ba", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestOr(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := Or(words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
