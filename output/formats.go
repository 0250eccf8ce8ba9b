package output

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"bolt/event"
	"bolt/output/layout"
)

// A Format is an output format.
type Format = layout.Format

// The formats that the layouts of lists distinguish.
var (
	Human   = layout.Human
	JSON    = layout.JSON
	NDJSON  = layout.NDJSON
	Rainbow = layout.Rainbow
)

// A Use is a kind of command output.
type Use uint8

// The uses.
const (
	Events Use = 1 << iota // events on targets and in plans
	Lists                  // lists and results of commands that Puppet Bolt has
	Own                    // lists and results of other commands
	Folds                  // actions whose equal results are printed once
)

// A kind is a format with its uses.
type kind struct {
	Format
	uses Use
	// other is the format that replaces this one for a use that it does not have, if a
	// configuration file names it.
	other Format
	// about explains the format in the help; "" for a format that needs no explanation.
	about string
	// ours is set if Puppet Bolt does not have the format.
	ours bool

	sink func(o Options, out *bufio.Writer) event.Sink
}

// kinds returns all formats, the default first. A new format is a file of this package with its Format and
// its sink, and a row here.
func kinds() []kind {
	return []kind{
		{Format: Human, uses: Events | Lists | Own | Folds, about: "default", sink: humanSink},
		{Format: JSON, uses: Events | Lists | Own, sink: jsonSink},
		{Format: NDJSON, uses: Events, other: JSON, about: "one event a line, as it happens", ours: true, sink: ndjsonSink},
		{Format: Rainbow, uses: Events | Lists | Folds, other: Human, sink: humanSink},
	}
}

func find(name string) kind {
	for _, k := range kinds() {
		if k.Name == name {
			return k
		}
	}
	return kind{Format: Format{Name: name}}
}

// Find returns the format with a name. A format that only some commands have is not for programs.
func Find(name string) Format { return find(name).Format }

// About explains the format with a name; "" for a format that needs no explanation.
func About(name string) string { return find(name).about }

// Names returns the names of the formats that have a use.
func Names(u Use) (names []string) {
	for _, k := range kinds() {
		if k.uses&u != 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// Split separates the names of formats that Puppet Bolt has, and of formats of single commands, from the
// names of bolt's other formats.
func Split(names []string) (bolts, ours []string) {
	for _, name := range names {
		if find(name).ours {
			ours = append(ours, name)
		} else {
			bolts = append(bolts, name)
		}
	}
	return bolts, ours
}

// Nearest returns the format of names that replaces a format that a configuration file sets for all commands.
func Nearest(names []string, name string) string {
	if slices.Contains(names, name) {
		return name
	}
	if other := find(name).other.Name; other != "" {
		return other
	}
	return Human.Name
}

func unknown(f Format) error {
	return fmt.Errorf("format %s: must be one of %s", f, strings.Join(Names(Events), ", "))
}
