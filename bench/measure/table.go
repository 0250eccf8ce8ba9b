package measure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Row is a line of a table: a tool's samples at one size.
type Row struct {
	Name    string
	Targets int
	Samples []Sample
	Memory  int64 // peak of all processes together, in bytes; 0: use the samples' MaxRSS
}

// Table prints the rows in their order, with medians. The last two columns
// are the ratios of a tool's wall and processor time to the row of the same
// size that is named base.
func Table(w io.Writer, title, base string, rows []Row) error {
	if _, err := fmt.Fprintf(w, "\n%s\n", title); err != nil {
		return err
	}
	bases := make(map[int]Sample)
	for _, r := range rows {
		if r.Name == base {
			bases[r.Targets] = Median(r.Samples)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "targets\ttool\truns\twall ms\tCPU ms\tCPU ms/target\tpeak MiB\twall ÷ %s\tCPU ÷ %s\t\n", base, base)
	for _, r := range rows {
		if len(r.Samples) == 0 {
			fmt.Fprintf(t, "%d\t%s\t0\t%s\n", r.Targets, r.Name, strings.Repeat("-\t", 6))
			continue
		}
		m := Median(r.Samples)
		memory := r.Memory
		if memory == 0 {
			memory = m.MaxRSS
		}
		ratios := "-\t-\t"
		if b, ok := bases[r.Targets]; ok && b.Wall > 0 && b.CPU > 0 {
			ratios = fmt.Sprintf("%.2f\t%.2f\t", float64(m.Wall)/float64(b.Wall), float64(m.CPU)/float64(b.CPU))
		}
		fmt.Fprintf(t, "%d\t%s\t%d\t%.0f\t%.0f\t%.2f\t%.1f\t%s\n", r.Targets, r.Name, len(r.Samples),
			ms(m.Wall), ms(m.CPU), ms(m.CPU)/float64(r.Targets), float64(memory)/(1<<20), ratios)
	}
	return t.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
