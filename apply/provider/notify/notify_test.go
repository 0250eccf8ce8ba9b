package notify

import (
	"fmt"
	"testing"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func TestNotify(t *testing.T) {
	for _, c := range []struct {
		params  *ordered.Map
		secrets []string
		want    string
	}{
		{ordered.Of(), nil, "notice Notify[x]: x"},
		{ordered.Of("message", "hello %s"), nil, "notice Notify[x]: hello %s"},
		{ordered.Of("message", int64(3), "withpath", true, "loglevel", "err"), nil, "err Notify[x]: Notify[x]: 3"},
		{ordered.Of("message", []any{"a", "b"}), nil, "notice Notify[x]: a"},
		{ordered.Of("message", ordered.Of("k", int64(1))), nil, `notice Notify[x]: {"k":1}`},
		{ordered.Of("message", "hunter2"), []string{"message"}, "notice Notify[x]: [message redacted]"},
	} {
		var got string
		h := resource.NewHost()
		h.Log = func(r catalog.Ref, level report.Level, text string) { got += fmt.Sprintf("%s %s: %s", level, r, text) }
		item, err := Type().New(&resource.Resource{Ref: catalog.Ref{Type: "Notify", Title: "x"}, Params: c.params, Secrets: c.secrets})
		if err != nil {
			t.Fatal(err)
		}
		if err := item.Read(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		changes, err := item.Plan()
		if err != nil || len(changes) != 1 {
			t.Fatalf("Plan = %v, %v", changes, err)
		}
		if err := item.Do(t.Context(), h, &changes[0]); err != nil || got != c.want {
			t.Errorf("%v logs %q, %v, want %q", c.params, got, err, c.want)
		}
	}
}
