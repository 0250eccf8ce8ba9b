package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bolt/catalog"
)

// TestManySmall checks that a machine gets no more contents without asking than fit in memory: the others are offered.
func TestManySmall(t *testing.T) {
	from := filepath.Join(t.TempDir(), "from")
	if err := os.WriteFile(from, make([]byte, maxSmall), 0o600); err != nil {
		t.Fatal(err)
	}
	const fit = maxInput / maxSmall
	const n = fit + 10
	var resources []any
	metas := make(map[string]any)
	for i := range n {
		title := fmt.Sprint("/to", i)
		resources = append(resources, map[string]any{"type": "File", "title": title})
		metas[title] = map[string]any{"path": from, "type": "file", "checksum": map[string]any{"type": "sha256", "value": fmt.Sprintf("{sha256}%064x", i)}}
	}
	text, err := json.Marshal(map[string]any{"name": "n1", "resources": resources, "metadata": metas})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack(&Job{Node: "n1", Catalog: c})
	if err != nil {
		t.Fatal(err)
	}
	small := 0
	for i := range p.contents {
		if p.contents[i].small {
			small++
		}
	}
	if offered := len(p.offer().Contents); small != fit || offered != n-fit {
		t.Errorf("%d are sent and %d offered of %d", small, offered, n)
	}
}
