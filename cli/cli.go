// Package cli describes a command line as tables of commands and flags. From these tables it parses
// arguments and makes the help pages and the manual page. Package cli/complete makes the shell
// completion.
//
// It parses arguments as Ruby's optparse does, which Puppet Bolt uses. The package runs no commands
// and has no effects: it returns pages as strings, and usage errors as *UsageError.
package cli

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// A Program is a command line: all commands and flags, and the texts about the program. Its methods
// can be called concurrently.
type Program struct {
	Name        string
	Purpose     string // the purpose of the program, in the infinitive
	Description string // the first paragraph of the general help and of the manual
	Groups      []Group
	Commands    []Command // in the order of the help page
	Texts       fs.FS     // COMMAND-ACTION.txt for each command, closing.txt, manual.txt and occasions.txt
	Flags       []Flag    // in the order of help pages
	Sections    []string  // of help pages, in their order
	Chapters    []Chapter // of the general help
	Width       int       // of the terminal that shows help pages, in columns; 0 if unknown
	Missing     []Missing
	Mistake     string // the end of the last line of Command.Exit
	Hint        string // with the error about an unknown short flag

	// Extra are commands that are not in Commands, such as man, with a sentence for each.
	Extra map[string]string
}

// A Chapter is a part of the general help: commands of one word, first words of groups, and names of Extra.
type Chapter struct {
	Title string
	Names []string
}

// A Group is the commands of two words that have the same first word.
type Group struct {
	Name, Short string
	Own         bool // Puppet Bolt has no such commands
	AsListed    bool // an error names the actions in the order of Program.Commands, instead of sorted

	// Advise returns the hint for words, at least two, whose second is not an
	// action; "" for a hint about the spelling. It can be nil.
	Advise func(words, actions []string) string
}

// A Missing is a command that this program does not have although Puppet Bolt has it.
type Missing struct {
	Name   string
	Refuse func(args []string) error // the error for it with these arguments
}

// A Command is one action of the command line.
type Command struct {
	Name    string   // one word, or two: "command run"
	Args    string   // of its usage line
	Exit    string   // the meanings of its exit codes, a line for each; Program.Mistake follows
	Lists   []string // the occasions of the flags that apply to it
	Formats []string // for flags whose values depend on the command
	// Reworded are the texts of flags that have another meaning for the command, by the names of the flags.
	Reworded map[string]Wording

	// Check returns the error in its arguments. They are checked before any file is read.
	Check func(args []string) error

	// Complete holds the completers of its arguments by their positions, and Rest the completer of
	// all further arguments. If a completer is nil, there are no completions.
	Complete []Completer
	Rest     Completer
}

// A Wording has texts of a flag. Empty ones are those of the flag.
type Wording struct{ Arg, Section, Help string }

// Takes reports whether a flag applies to a command.
func (c *Command) Takes(f *Flag) bool { return f.On == Always || slices.Contains(c.Lists, f.On) }

// completer returns the completer of the argument that follows args.
func (c *Command) completer(args []string) Completer {
	if len(args) < len(c.Complete) {
		return c.Complete[len(args)]
	}
	return c.Rest
}

// Always is the occasion of the flags that apply to every command.
const Always = "all"

// A Flag is one option of the command line. A command's help lists the flags
// that apply to it. Commands of Puppet Bolt also accept all other flags of
// Bolt; see Program.CheckFlags.
type Flag struct {
	Name, Short string
	Arg         string // name of its value in help; "" for a switch
	Negatable   bool   // a switch that has a --no- form
	Repeat      bool   // may be given several times
	Values      []string
	Section     string
	Help        string
	Negative    string // the completion's description of the --no- form; "" for the same
	On          string // the occasion on which it applies: one of occasions.txt, or Always
	Strict      bool   // rejected on all other occasions: Bolt does not have it, or rejects it itself
	Secret      bool   // its value must not be stored

	// Setting converts its value to the value of the setting with the same name. It overrides the
	// setting in configuration files. Setting is nil if the flag has no setting.
	Setting func(text string) any

	// Check returns the error in a value, which is rejected while arguments are read. If it is nil,
	// all values are accepted at that time.
	Check func(f *Flag, text string) error

	// Absolute converts a value that names files so that it is valid in every
	// working directory. It is nil if values do not depend on the working
	// directory.
	Absolute func(text string) string

	// Vary adapts the flag to a command, for example its Values. It can be nil.
	Vary func(f *Flag, c *Command)

	// Complete completes its value. If it is nil, Values are offered.
	Complete Completer
}

// For returns the flag adapted to a command.
func (f Flag) For(c *Command) Flag {
	if f.Vary != nil {
		f.Vary(&f, c)
	}
	w := c.Reworded[f.Name]
	f.Arg, f.Section, f.Help = cmp.Or(w.Arg, f.Arg), cmp.Or(w.Section, f.Section), cmp.Or(w.Help, f.Help)
	return f
}

// Values holds the values of the given flags by name. Flags that were not given
// are not in it. A switch has the value "true", and with --no- "false".
type Values map[string][]string

// Has reports whether a flag was given.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// Last returns the value of a flag that takes effect, if the flag may be given once.
func (v Values) Last(name string) string {
	if l := v[name]; len(l) > 0 {
		return l[len(l)-1]
	}
	return ""
}

// On returns the value of a switch; def if it was not given.
func (v Values) On(name string, def bool) bool {
	if !v.Has(name) {
		return def
	}
	return v.Last(name) == "true"
}

// Recorded returns the values of the chosen flags in a form that is valid in every working
// directory. It leaves out secrets.
func (v Values) Recorded(flags []Flag, chosen func(f *Flag) bool) Values {
	recorded := make(Values)
	for i := range flags {
		f := &flags[i]
		if f.Secret || !v.Has(f.Name) || !chosen(f) {
			continue
		}
		texts := slices.Clone(v[f.Name])
		for i, text := range texts {
			if f.Absolute != nil {
				texts[i] = f.Absolute(text)
			}
		}
		recorded[f.Name] = texts
	}
	return recorded
}

// Over returns v with the values in lower of flags that v does not have.
func (v Values) Over(lower Values) Values {
	all := make(Values)
	maps.Copy(all, lower)
	maps.Copy(all, v)
	return all
}

// A Query is a word whose beginning was typed.
type Query struct {
	Given  Values   // the flags before it
	Args   []string // the arguments of the command before it
	Prefix string
}

// A Completer returns the possible completions of a word. It returns none if it
// fails, because a shell cannot show errors there.
type Completer func(ctx context.Context, q Query) Completions

// Completions are the possible completions of a word: words, or else files.
type Completions struct {
	Words []Word

	Files      bool     // all files, if there are no words
	Dirs       bool     // directories
	Extensions []string // directories, and files that have one of these extensions

	NoSpace bool // the word may be continued
	InOrder bool // Words must not be sorted
}

// A Word is one completion.
type Word struct{ Text, About string }

// Texts returns the completions without descriptions.
func Texts(texts ...string) Completions {
	var c Completions
	for _, t := range texts {
		c.Words = append(c.Words, Word{Text: t})
	}
	return c
}

// AnyFile completes the names of files.
func AnyFile(context.Context, Query) Completions { return Completions{Files: true} }

// Directory completes the names of directories.
func Directory(context.Context, Query) Completions { return Completions{Dirs: true} }

// FileOf returns a Completer for files that have one of the extensions.
func FileOf(extensions ...string) Completer {
	return func(context.Context, Query) Completions { return Completions{Extensions: extensions} }
}

// CompleteArgument returns the completions of an argument of a command.
func (c *Command) CompleteArgument(ctx context.Context, q Query) Completions {
	if complete := c.completer(q.Args); complete != nil {
		return complete(ctx, q)
	}
	return Completions{}
}

// CompleteFlag returns the Completer for a flag's value with a command; nil for a switch.
func (c *Command) CompleteFlag(f Flag) Completer {
	switch f = f.For(c); {
	case f.Complete != nil:
		return f.Complete
	case f.Arg == "":
		return nil
	}
	return func(context.Context, Query) Completions { return Texts(f.Values...) }
}

// group returns the group of a command; nil for a command of one word.
func (p *Program) group(name string) *Group {
	first, _, _ := strings.Cut(name, " ")
	i := slices.IndexFunc(p.Groups, func(g Group) bool { return g.Name == first })
	if i < 0 {
		return nil
	}
	return &p.Groups[i]
}

// Own reports whether Puppet Bolt does not have the command.
func (p *Program) Own(c *Command) bool {
	g := p.group(c.Name)
	return g != nil && g.Own
}

// CheckFlags returns an error if a flag that does not apply to the command was
// given. It accepts Puppet Bolt's flags with each of Bolt's commands, because
// Bolt accepts them everywhere and scripts rely on that.
func (p *Program) CheckFlags(c *Command, given Values) error {
	for i := range p.Flags {
		f := &p.Flags[i]
		if given.Has(f.Name) && !c.Takes(f) && (f.Strict || p.Own(c)) {
			return Errorf("Option '--%s' can only be specified when %s", f.Name, p.Occasion(f.On))
		}
	}
	return nil
}
