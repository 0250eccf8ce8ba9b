// Package debconf applies resources of the type debconf: answers to the questions of Debian's packages.
//
// The rules come from the module debconf of smoeding (stm). Answers are read with debconf-communicate(1) and set with
// debconf-set-selections(1). Both get values on their standard input, so that no other user can see them.
package debconf

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

const limit = 5 * time.Minute

func program(name string) *tool.Tool {
	return &tool.Tool{Name: name, Hint: "Install the package debconf on the target", Limit: limit, Vars: []string{"DEBIAN_FRONTEND=noninteractive"}}
}

// Type returns the type debconf.
func Type() resource.Type { return answers{} }

type answers struct{}

// An answer is a resource.
type answer struct {
	item, pkg, kind string
	absent          bool
	value, seen     *string // nil if it is not managed
	is              state
}

// A state is the answer that the database has.
type state struct {
	exists      bool
	value, seen string
}

var (
	items    = lazyregexp.New(`^[a-z0-9][a-z0-9:.+-]+/[a-zA-Z0-9/_.+-]+$`)
	packages = lazyregexp.New(`^[a-z0-9][a-z0-9:.+-]+$`)
)

// New implements resource.Type.
func (answers) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &answer{item: f.Text("item", f.Text("name", r.Title)), kind: f.Text("type", ""), absent: f.Text("ensure", "present") == "absent"}
	owner, _, _ := strings.Cut(x.item, "/")
	x.pkg = f.Text("package", owner)
	check := func(param string, pattern *regexp.Regexp, text, must string) {
		if !pattern.MatchString(text) || strings.ContainsAny(text, "\n") {
			f.RefuseValue(param, must, text)
		}
	}
	check("item", items(), x.item, "must be a package and a question, such as tzdata/Areas")
	check("package", packages(), x.pkg, "must be the name of a package")
	if x.kind == "" && !x.absent {
		f.Refuse("type", "must be given")
	}
	if _, given, _ := r.Text("value"); given {
		// debconf-set-selections makes ends of lines from \n; it cannot set a value that has a backslash before an n.
		text := strings.ReplaceAll(strings.TrimSpace(f.Text("value", "")), `\n`, "\n")
		if strings.HasSuffix(text, `\`) || strings.Contains(text, "\r") {
			f.Refuse("value", "must not end with a backslash, or have a carriage return in it")
		}
		x.value = &text
	}
	if _, given, _ := r.Text("seen"); given {
		text := strconv.FormatBool(f.Bool("seen", false))
		x.seen = &text
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *answer) Read(ctx context.Context, h *resource.Host) error {
	return answers{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader: one process returns the answers of all items.
func (answers) ReadAll(ctx context.Context, h *resource.Host, list []resource.Item) []error {
	var names []string
	for _, i := range list {
		if x := i.(*answer); !slices.Contains(names, x.item) {
			names = append(names, x.item)
		}
	}
	return tool.ReadAll(list, func() (map[string]state, error) { return query(ctx, h, names) }, func(x *answer, all map[string]state) error {
		x.is = all[x.item]
		return nil
	})
}

// Watch implements resource.Watcher. Programs of debconf open the database for writing also when they only read it, which is an event.
// When they change a file, they write a file with the ending -new. Then they rename the old one, except that with passwords, and the new
// one (Debconf::DbDriver::File, debconf.conf(5)).
func (x *answer) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return resource.Paths(h.Path("/var/cache/debconf/config.dat-old"), h.Path("/var/cache/debconf/passwords.dat-new"))
}

// The result codes of the protocol, from debconf-spec(7).
const (
	success   = 0
	badParams = 10 // also for a question that does not exist
	escaped   = 1
)

// query returns the answers to questions that exist.
func query(ctx context.Context, h *resource.Host, names []string) (map[string]state, error) {
	// With this capability, an end of a line in a value is escaped.
	lines := []string{"CAPB escape"}
	for _, name := range names {
		lines = append(lines, "GET "+name, "FGET "+name+" seen")
	}
	replies, err := talk(ctx, h, "debconf", lines)
	if err != nil {
		return nil, err
	}
	all := make(map[string]state)
	for i, name := range names {
		get, seen := replies[1+2*i], replies[2+2*i]
		switch get.code {
		case success, escaped:
			s := state{exists: true, value: get.text, seen: "false"}
			if get.code == escaped {
				s.value = unescape(s.value)
			}
			if seen.code == success {
				s.seen = seen.text
			}
			all[name] = s
		case badParams:
		default:
			return nil, fmt.Errorf("debconf-communicate: GET %s has the result %d", name, get.code)
		}
	}
	return all, nil
}

// A reply is the answer to one command of the protocol.
type reply struct {
	code int
	text string
}

// talk sends commands to the database and returns a reply for each of them.
func talk(ctx context.Context, h *resource.Host, owner string, commands []string) ([]reply, error) {
	out, err := program("debconf-communicate").Run(ctx, h, &resource.Command{
		Argv: []string{owner}, Stdin: []byte(strings.Join(commands, "\n") + "\n"), Session: true})
	if err != nil {
		return nil, err
	}
	replies := parse(string(out.Stdout))
	if len(replies) != len(commands) {
		if err := out.Failure("debconf-communicate"); err != nil && len(out.Stderr) > 0 {
			return nil, err
		}
		// The output is not shown, because it can have a password in it.
		return nil, errors.New("debconf-communicate printed something else than the answers")
	}
	return replies, nil
}

// parse reads replies, one a line. The result is nil if a line is not a reply.
func parse(text string) (replies []reply) {
	for line := range strings.Lines(text) {
		code, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		n, err := strconv.ParseUint(code, 10, 8)
		if err != nil {
			return nil
		}
		replies = append(replies, reply{int(n), strings.TrimRight(text, " \t")})
	}
	return replies
}

// unescape reverses the escapes of the protocol: \n and \\.
func unescape(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(text)
}

// Plan implements resource.Item.
func (x *answer) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && x.is.exists:
		return resource.Removed("debconf"), nil
	case x.absent:
		return nil, nil
	case !x.is.exists && x.value == nil:
		return nil, fmt.Errorf("the question %s does not exist, and the parameter value is not given", x.item)
	case !x.is.exists:
		return resource.Created("debconf"), nil
	}
	if x.value != nil && *x.value != x.is.value {
		changes = append(changes, resource.Change{Property: "value", Is: x.is.value, Should: *x.value})
	}
	if x.seen != nil && *x.seen != x.is.seen {
		changes = append(changes, resource.Change{Property: "seen", Is: x.is.seen, Should: *x.seen})
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *answer) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	if x.absent {
		return x.remove(ctx, h)
	}
	var lines strings.Builder
	if x.value != nil && c.Property != "seen" {
		fmt.Fprintf(&lines, "%s %s %s %s\n", x.pkg, x.item, x.kind, strings.ReplaceAll(*x.value, "\n", `\n`))
		if x.seen == nil && x.is.exists { // a new value marks the question as seen
			fmt.Fprintf(&lines, "%s %s seen %s\n", x.pkg, x.item, x.is.seen)
		}
	}
	if x.seen != nil {
		fmt.Fprintf(&lines, "%s %s seen %s\n", x.pkg, x.item, *x.seen)
	}
	return program("debconf-set-selections").Feed(ctx, h, lines.String())
}

// remove takes the question from its package. The database keeps it as long as other packages have it.
func (x *answer) remove(ctx context.Context, h *resource.Host) error {
	replies, err := talk(ctx, h, x.pkg, []string{"UNREGISTER " + x.item, "GET " + x.item})
	switch {
	case err != nil:
		return err
	case replies[0].code != success:
		return fmt.Errorf("debconf-communicate: UNREGISTER %s has the result %d", x.item, replies[0].code)
	case replies[1].code != badParams:
		return fmt.Errorf("the question %s does not belong to the package %s alone. Set the parameter package", x.item, x.pkg)
	}
	return nil
}
