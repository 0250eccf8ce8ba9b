package valuedata

import (
	"testing"

	"bolt/internal/ordered"
	"bolt/puppet/value"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		data any
		want string
	}{
		{nil, "undef"}, {true, "true"}, {int64(7), "7"}, {1.5, "1.5"}, {"a", "'a'"},
		{[]any{nil, "x"}, "[undef, 'x']"},
		{ordered.Of("b", int64(1), "a", []any{}), "{'b' => 1, 'a' => []}"},
	} {
		v, err := Of(tt.data)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.Inspect(v); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.data, got, tt.want)
		}
	}
	if _, err := Of([]any{struct{}{}}); err == nil {
		t.Error("a struct is data")
	}
}
