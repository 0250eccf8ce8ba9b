package fleet

import (
	"testing"

	"bolt/catalog"
)

func TestTags(t *testing.T) {
	c, err := catalog.Parse([]byte(`{"name": "n", "resources": [{"type": "Notify", "title": "Some text", "tags": ["notify", "ntp"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for wanted, missed := range map[string]bool{"ntp": false, "NTP": false, "notify": false, "some text": false, "other": true} {
		w := NewTags([]string{"nothing", wanted})
		if w.Missed() {
			t.Errorf("%s: missed before a catalog was applied", wanted)
		}
		if err := w.Watch(t.Context(), nil, c, nil); err != nil || w.Missed() != missed {
			t.Errorf("%s: missed %t, %v", wanted, w.Missed(), err)
		}
	}
}
