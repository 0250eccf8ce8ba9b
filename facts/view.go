package facts

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"bolt/facts/factcache"
	"bolt/format/ordered"
	"bolt/inventory"
)

// A View is the stored facts of targets for printing.
type View struct {
	// Columns are the names of the columns.
	Columns []string
	// Targets yields one target after the other, so that only one target's facts
	// are in memory. An error ends the list.
	Targets iter.Seq2[Entry, error]
	MaxAge  time.Duration // from which age on facts are old
	Dir     string        // where the facts are kept
}

// An Entry is the stored facts of one target.
type Entry struct {
	Name      string    // in JSON
	SafeName  string    // for people
	Collected time.Time // zero: none were kept
	Age       time.Duration
	Source    string       // "task", "puppetdb"
	Values    []any        // for people: one for each column
	Facts     *ordered.Map // in JSON
}

// Columns select the facts to show of each target.
type Columns struct {
	names   []string
	columns []column
	given   bool // by their paths
}

// A column of facts is made of the values of paths, with blanks between them.
type column []factcache.Path

// wellKnown are the columns without --fact: their names and paths.
var wellKnown = [][]string{
	{"OS", "os.name", "os.release.full"},
	{"Architecture", "os.architecture"},
	{"Kernel", "kernelrelease"},
	{"Processors", "processors.count"},
	{"Memory", "memory.system.total"},
	{"Virtual", "virtual"},
}

// ParseColumns returns one column for each path of a fact. If paths is nil, it returns the
// well-known columns.
func ParseColumns(paths []string) (Columns, error) {
	if paths == nil {
		return columnsOf(wellKnown)
	}
	asked := make([][]string, len(paths))
	for i, path := range paths {
		asked[i] = []string{path, path}
	}
	c, err := columnsOf(asked)
	c.given = true
	return c, err
}

func columnsOf(asked [][]string) (Columns, error) {
	var all Columns
	for _, one := range asked {
		var c column
		for _, text := range one[1:] {
			path, err := factcache.ParsePath(text)
			if err != nil {
				return all, err
			}
			c = append(c, path)
		}
		all.names, all.columns = append(all.names, one[0]), append(all.columns, c)
	}
	return all, nil
}

// View returns the stored facts of targets: only the facts of the columns,
// unless all is set and no paths were given.
func (s *Store) View(ctx context.Context, targets []*inventory.Target, c Columns, all bool, maxAge time.Duration) *View {
	want := factcache.All()
	if !all || c.given {
		var facts []string
		for _, column := range c.columns {
			for _, path := range column {
				facts = append(facts, path.Fact())
			}
		}
		want = factcache.Only(facts...)
	}
	return &View{Columns: c.names, MaxAge: maxAge, Dir: s.Dir(), Targets: func(yield func(Entry, error) bool) {
		for _, t := range targets {
			one := Entry{Name: t.Name, SafeName: t.SafeName()}
			r, err := s.Record(ctx, t.Name, want)
			if err != nil {
				yield(one, err)
				return
			}
			if r != nil {
				one.Collected, one.Age, one.Source, one.Facts = r.Collected, r.Age(s.Now), r.Source, r.Facts
				one.Values = valuesOf(c.columns, r.Facts)
				if c.given {
					one.Facts = &ordered.Map{}
					for i, path := range c.columns {
						one.Facts.Set(path[0].String(), one.Values[i])
					}
				}
			}
			if !yield(one, nil) {
				return
			}
		}
	}}
}

// valuesOf returns the values of columns.
func valuesOf(columns []column, facts *ordered.Map) []any {
	values := make([]any, len(columns))
	for i, c := range columns {
		if len(c) == 1 {
			values[i] = c[0].In(facts)
			continue
		}
		var texts []string
		for _, path := range c {
			if v := path.In(facts); v != nil {
				texts = append(texts, fmt.Sprint(v))
			}
		}
		values[i] = strings.Join(texts, " ")
	}
	return values
}
