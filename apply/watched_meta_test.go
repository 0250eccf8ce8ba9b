package apply

import (
	"testing"
	"time"

	"bolt/apply/resource"
	"bolt/catalog"
)

// TestWatchedMeta checks that a watch gets poll, limit, burst and hidden.
func TestWatchedMeta(t *testing.T) {
	c := &catalog.Catalog{}
	for _, r := range []*catalog.Resource{made("Job", "event"), made("Job", "polled", "meta", metaOf("poll", int64(5))), made("Job", "once", "meta", metaOf("poll", int64(-1))),
		made("Job", "limited", "meta", metaOf("limit", 0.2, "burst", int64(5))), made("Job", "hidden", "meta", metaOf("hidden", true))} {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Prepare(c, resource.NewHost(), Options{Types: map[string]resource.Type{"Job": job{}}})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]Watched)
	for _, w := range r.Watched(t.Context()) {
		got[w.Ref.Title] = w
	}
	if len(got) != 4 || !got["once"].Once || got["once"].Watches != nil || got["event"].Poll != 0 || got["polled"].Poll != 5*time.Second || got["limited"].Limit != 0.2 || got["limited"].Burst != 5 {
		t.Errorf("got %+v", got)
	}
}
