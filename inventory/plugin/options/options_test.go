package options_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/options"
	"bolt/transport"
)

func TestReadsOptions(t *testing.T) {
	ref := ordered.Of("_plugin", "p", "text", "ref", "n", int64(3), "list", []any{"a", "b"}, "one", "a",
		"map", ordered.Of("k", "v"), "secret", transport.NewSecret("s"), "none", nil)
	r := options.New("p", ref, ordered.Of("text", "config", "timeout", int64(5), "none", "config"))
	got := []any{r.Text("text"), r.Required("text"), r.Text("none"), r.Text("unset"),
		r.Number("n", 1, 0), r.Number("unset", 7, 0), r.Seconds("timeout", time.Minute), r.Seconds("unset", time.Minute),
		r.Texts("list"), r.Texts("one"), r.Texts("unset"), r.Map("map"), r.Map("unset"), r.Secret("secret").Reveal()}
	want := []any{"ref", "ref", "config", "", int64(3), int64(7), 5 * time.Second, time.Minute,
		[]string{"a", "b"}, []string{"a"}, []string(nil), ordered.Of("k", "v"), (*ordered.Map)(nil), "s"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestWrongOptionsAreErrors(t *testing.T) {
	tests := []struct {
		name string
		ref  *ordered.Map
		read func(r *options.Reader)
		says string
	}{
		{"text", ordered.Of("k", int64(1)), func(r *options.Reader) { r.Text("k") }, "The plugin p requires that 'k' is a String"},
		{"required", ordered.Of("k", ""), func(r *options.Reader) { r.Required("k") }, "requires a 'k'"},
		{"number", ordered.Of("k", "5"), func(r *options.Reader) { r.Number("k", 0, 0) }, "'k' is an Integer of at least 0"},
		{"seconds", ordered.Of("k", int64(0)), func(r *options.Reader) { r.Seconds("k", time.Second) }, "'k' is an Integer of at least 1"},
		{"texts", ordered.Of("k", []any{"a", nil}), func(r *options.Reader) { r.Texts("k") }, "'k' is an Array of Strings"},
		{"texts of another type", ordered.Of("k", true), func(r *options.Reader) { r.Texts("k") }, "'k' is a String or an Array"},
		{"map", ordered.Of("k", "x"), func(r *options.Reader) { r.Map("k") }, "'k' is a Hash"},
		{"the first counts", ordered.Of("k", "x"), func(r *options.Reader) { r.Map("k"); r.Number("k", 0, 0) }, "'k' is a Hash"},
		{"misspelt", ordered.Of("resourse", "x"), func(r *options.Reader) { r.Text("resource") }, "has no option 'resourse'"},
		{"another", ordered.Of("zzz", "x"), func(r *options.Reader) { r.Text("dir"); r.Text("state") }, "has no option 'zzz'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := options.New("p", tt.ref, &ordered.Map{})
			tt.read(r)
			f, ok := errors.AsType[*fault.Error](r.Err())
			if !ok || f.Kind != "bolt/validation-error" || !strings.Contains(f.Msg, tt.says) {
				t.Errorf("got %v", r.Err())
			}
		})
	}
	r := options.New("p", ordered.Of("resourse", "x"), &ordered.Map{})
	r.Text("resource")
	if f, ok := errors.AsType[*fault.Error](r.Err()); !ok || f.Hint != "Did you mean 'resource'?" {
		t.Errorf("got %v", r.Err())
	}
}
