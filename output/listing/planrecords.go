package listing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/plans/journal"
)

// maxWords limits the text of parameters on a line.
const maxWords = 60

// words returns parameters in the form of a command line, shortened to
// maxWords.
func words(params *ordered.Map) string {
	var b strings.Builder
	for name, v := range params.All() {
		text, is := v.(string)
		if !is {
			var data strings.Builder
			if err := safejson.Write(&data, v); err != nil {
				continue
			}
			text = data.String()
		}
		fmt.Fprintf(&b, " %s=%s", name, text)
	}
	text := []rune(strings.Join(strings.Fields(safetext.TerminalString(b.String())), " "))
	if len(text) > maxWords {
		return string(text[:maxWords-1]) + "…"
	}
	return string(text)
}

// PrintPlanRecords prints recorded runs of plans.
func PrintPlanRecords(w io.Writer, o Options, list []journal.Summary) error {
	out := bufio.NewWriter(w)
	if o.Format.Data {
		runs := make([]any, len(list))
		for i, r := range list {
			runs[i] = ordered.Of("run", r.ID, "plan", r.Plan, "state", string(r.State), "began", r.Began.Format(time.RFC3339), "last", r.Last.Format(time.RFC3339),
				"steps", r.Steps, "parameters", r.Params, "error", textOrNull(r.Error), "journal", r.Path)
		}
		return layout.WriteDocument(w, ordered.Of("runs", runs))
	}
	heading(out, o.Color, "Runs")
	if len(list) == 0 {
		_, _ = out.WriteString("  No run is recorded. Run 'bolt plan run --journal' to record one.\n")
		return out.Flush()
	}
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range list {
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\tbegan %s\t%s\n", r.ID, safetext.TerminalString(string(r.State)), safetext.TerminalString(r.Plan), layout.Plural(r.Steps, "step"),
			r.Began.Local().Format("2006-01-02 15:04"), words(r.Params))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  Use 'bolt plan resume <RUN>' to continue a run that was interrupted, and 'bolt plan resume <RUN> --retry' to continue a run that failed on targets.\n")
	return out.Flush()
}
