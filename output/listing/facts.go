package listing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"bolt/facts"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/nodeset"
	"bolt/internal/period"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// PrintFacts prints f to w: as JSON one document, else a table without columns
// that are empty.
func PrintFacts(w io.Writer, o Options, f *facts.View) error {
	out := bufio.NewWriter(w)
	var err error
	if o.Format.Data {
		err = writeFacts(out, f)
	} else {
		err = factsTable(out, o.Color, f)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeFacts writes {"targets": [{"target", "collected", "age", "source",
// "facts"}...], "missing": [names], "directory"}.
func writeFacts(out *bufio.Writer, f *facts.View) error {
	_, _ = out.WriteString(`{"targets":[`)
	comma := ""
	missing := []string{}
	for t, err := range f.Targets {
		if err != nil {
			return err
		}
		if t.Collected.IsZero() {
			missing = append(missing, t.Name)
			continue
		}
		_, _ = out.WriteString(comma)
		comma = ","
		one := ordered.Of("target", t.Name, "collected", t.Collected.UTC().Format(time.RFC3339), "age", int64(t.Age/time.Second), "source", t.Source, "facts", t.Facts)
		if err := safejson.Write(out, one); err != nil {
			return err
		}
	}
	_, _ = out.WriteString(`],"missing":`)
	if err := safejson.Write(out, missing); err != nil {
		return err
	}
	_, _ = out.WriteString(`,"directory":`)
	if err := safejson.Write(out, f.Dir); err != nil {
		return err
	}
	_, err := out.WriteString("}\n")
	return err
}

// maxCell is the maximum number of characters of a fact in a table.
const maxCell = 60

func factsTable(out *bufio.Writer, color bool, f *facts.View) error {
	rows := [][]string{append([]string{"Target", "Age"}, f.Columns...)}
	var missing []string
	var oldest time.Duration
	old := 0
	for t, err := range f.Targets {
		if err != nil {
			return err
		}
		if t.Collected.IsZero() {
			missing = append(missing, t.SafeName)
			continue
		}
		oldest = max(oldest, t.Age)
		if t.Age > f.MaxAge {
			old++
		}
		row := []string{safetext.TerminalString(t.SafeName), period.Text(t.Age)}
		for _, v := range t.Values {
			row = append(row, cell(v))
		}
		rows = append(rows, row)
	}
	heading(out, color, "Facts")
	if len(rows) == 1 {
		_, _ = out.WriteString("  No facts\n")
	} else {
		grid(out, rows)
	}
	_ = out.WriteByte('\n')
	if missing != nil {
		heading(out, color, "Targets without facts")
		fmt.Fprintf(out, "  %s (%s)\n\n", safetext.TerminalString(nodeset.Fold(missing)), layout.Plural(len(missing), "target"))
	}
	heading(out, color, "Where facts are kept")
	fmt.Fprintf(out, "  %s\n\n", safetext.TerminalString(f.Dir))
	heading(out, color, "Target count")
	fmt.Fprintf(out, "  %d total, %d with facts", len(rows)-1+len(missing), len(rows)-1)
	if len(rows) > 1 {
		fmt.Fprintf(out, ", %d of them older than %s, the oldest from %s ago", old, period.Text(f.MaxAge), period.Text(oldest))
	}
	_ = out.WriteByte('\n')
	return nil
}

// cell returns a value for one line of a table; "" for nil.
func cell(v any) string {
	if v == nil {
		return ""
	}
	text := safetext.TerminalString(layout.OneLine(v))
	text = strings.NewReplacer("\n", `\n`, "\t", " ").Replace(text)
	if utf8.RuneCountInString(text) > maxCell {
		text = string([]rune(text)[:maxCell-1]) + "…"
	}
	return text
}

// grid prints rows without empty columns. The first row is the heading.
func grid(out *bufio.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows[1:] {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, text := range row {
			if widths[i] == 0 {
				continue
			}
			pad := max(widths[i], utf8.RuneCountInString(rows[0][i])) - utf8.RuneCountInString(text)
			b.WriteString("  " + text + strings.Repeat(" ", pad))
		}
		_, _ = out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

// PrintForgotten prints the number of targets whose facts were removed.
func PrintForgotten(w io.Writer, o Options, n int) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("forgotten", n))
	}
	_, err := fmt.Fprintf(w, "The facts of %s were forgotten.\n", layout.Plural(n, "target"))
	return err
}
