package watch

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/internal/columns"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/rollout"
	"bolt/rollout/gate"
)

// Sizes of the picture in pixels.
const (
	cellWidth, cellHeight = 8, 18
	picture               = "testdata/watch.svg"
)

// svg draws lines as on a terminal.
func svg(lines []fullscreen.Line, width int) string {
	var b bytes.Buffer
	w, h := width*cellWidth+24, len(lines)*cellHeight+24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13.3">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>bolt rollout watch</title>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#17202a\"/>\n", w, h)
	colors := map[string]string{
		"": "#e5e8e8", layout.Red: "#f1948a", layout.Green: "#82e0aa", layout.Yellow: "#f7dc6f", layout.Cyan: "#85c1e9", fullscreen.Faint: "#909497",
		fullscreen.Bold: "#ffffff\" font-weight=\"bold",
	}
	for i, l := range lines {
		column := 0
		for _, s := range l {
			n := columns.Count(s.Text)
			if n == 0 {
				continue
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" xml:space="preserve" fill="%s">`, 12+column*cellWidth, 12+i*cellHeight+13, n*cellWidth, colors[s.Style])
			_ = xml.EscapeText(&b, []byte(s.Text)) // a Buffer takes everything
			b.WriteString("</text>\n")
			column += n
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// TestDocumentation compares the picture of docs/rollouts.md with a frame.
func TestDocumentation(t *testing.T) {
	list := make([]string, 20)
	for i := range list {
		list[i] = fmt.Sprintf("web%02d", i+1)
	}
	g := play(t, `
order: [name]
strategy:
  waves: [{name: canary, count: 1, soak: 10m}, {name: quarter, percent: 25}, {rest: true}]
  failures: {count: 2}
  concurrency: {max: 6}
  node: {timeout: 20m, retries: 1, retry_after: 30s, retry_on: [unreachable]}
  progress_deadline: 1h
gates:
  - {name: errors, at: [background], command: 'true', interval: 1m, failure_limit: 5}
  - {name: health, at: [node], command: 'true', count: 2, interval: 20s}
`, list...)
	healthy := func(nodes ...string) {
		g.end(rollout.OutcomeDone, "", nodes...)
		g.measured(gate.Successful, "")
		g.pass(20 * time.Second)
		g.measured(gate.Successful, "")
	}
	g.pass(4 * time.Second)
	healthy("web01")
	g.pass(10 * time.Minute)
	healthy(list[1:6]...)
	g.pass(7 * time.Second)
	healthy("web07", "web08")
	g.end(rollout.OutcomeFailed, "File[/etc/app.conf]: no space left on device", "web09")
	g.pass(6 * time.Second)
	g.end(rollout.OutcomeUnreachable, "dial web10:22: connection refused", "web10")
	g.end(rollout.OutcomeDone, "", "web11")
	g.pass(8 * time.Second)
	const width = 96
	f := g.view.Frame(g.now, Look{Width: width, Height: 28, Driver: driver, What: "release 61975abe42e8"})
	got := svg(f.Lines, width)
	if *update {
		if err := os.WriteFile(picture, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got; after a look at the new picture: go test ./output/watch -update\n%s", diff)
	}
}
