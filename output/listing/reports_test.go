package listing

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"bolt/apply/history"
	"bolt/output/layout"
)

// TestReportsEdited prints a report file with control sequences in all of its texts.
func TestReportsEdited(t *testing.T) {
	const evil = "\x1b[2Jx\r"
	s := history.Summary{Node: evil, Run: evil, Status: evil, Release: evil, Rollout: evil, By: evil, Error: evil, Time: time.Unix(0, 0)}
	for _, format := range []layout.Format{layout.Human, layout.JSON, layout.NDJSON} {
		o := Options{Format: format}
		var out bytes.Buffer
		err := PrintReports(&out, o, &Reports{List: []*history.Summary{&s}, Missing: []string{evil}})
		if err == nil {
			err = PrintReportHead(&out, o, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("%q", out.String())
		}
	}
}
