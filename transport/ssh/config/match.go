package config

import (
	"errors"
	"fmt"
	"strings"

	"bolt/transport/ssh/pattern"
)

// condition is a Host or Match line.
type condition struct {
	around *condition // condition of the Include of this file; nil: none
	hosts  []string   // patterns of a Host line, including !
	match  []criterion
	never  bool // the line could not be parsed
	final  bool // it requires the final pass
	at     position
}

// criterion is one criterion of a Match line, with its argument.
type criterion struct {
	name   string // lower case
	negate bool
	list   string // comma-separated patterns
}

func (w *condition) parseHost(args []string) error {
	if len(args) == 0 {
		return errNoArgument
	}
	for _, a := range args {
		if a == "" || a == "!" {
			return errNoArgument
		}
	}
	w.hosts = args
	return nil
}

// parseMatch parses the criteria of ssh_config(5), Match.
func (w *condition) parseMatch(args []string) error {
	if len(args) == 0 {
		return errNoArgument
	}
	for len(args) > 0 {
		name, list, hasList := strings.Cut(args[0], "=")
		args = args[1:]
		c := criterion{list: list}
		name, c.negate = strings.CutPrefix(name, "!")
		c.name = pattern.Lower(name)
		switch c.name {
		case "all":
			if len(args) > 0 || hasList || len(w.match) > 1 {
				return errors.New(`"all" is combined with other criteria`)
			}
		case "final":
			w.final = w.final || !c.negate
		case "canonical":
		case "host", "originalhost", "user", "localuser",
			"exec", "localnetwork", "tagged", "version", "command", "sessiontype":
			if !hasList {
				if len(args) == 0 {
					return fmt.Errorf("the argument of %q is missing", c.name)
				}
				c.list, args = args[0], args[1:]
			}
			if c.list == "" && c.name != "tagged" && c.name != "command" {
				return fmt.Errorf("the argument of %q is empty", c.name)
			}
		default:
			return fmt.Errorf("unknown criterion %q", c.name)
		}
		w.match = append(w.match, c)
	}
	return nil
}

// plainNames returns the names of a Host line that has only names without
// patterns. It returns nil for all other conditions.
func (w *condition) plainNames() []string {
	if w == nil || w.never {
		return nil
	}
	for _, p := range w.hosts {
		if strings.ContainsAny(p, "*?") || p[0] == '!' {
			return nil
		}
	}
	return w.hosts
}

// holds evaluates a condition at the current position of the pass. The result
// is kept for the rest of the pass: settings below a Match do not change it.
func (e *evaluation) holds(w *condition) bool {
	if w == nil {
		return true
	}
	if known, ok := e.truth[w]; ok {
		return known
	}
	yes := !w.never && e.holds(w.around)
	switch {
	case !yes:
	case w.hosts != nil:
		yes = pattern.MatchAny(w.hosts, e.host)
	default:
		yes = e.holdsMatch(w)
	}
	e.truth[w] = yes
	return yes
}

func (e *evaluation) holdsMatch(w *condition) bool {
	unknown := ""
	for _, c := range w.match {
		var yes bool
		switch c.name {
		case "all":
			yes = true
		case "final", "canonical":
			yes = e.final
		case "host":
			name, err := e.rawHostName()
			yes = err == nil && pattern.MatchList(pattern.Lower(c.list), pattern.Lower(name))
		case "originalhost":
			yes = pattern.MatchList(pattern.Lower(c.list), pattern.Lower(e.key.alias))
		case "user":
			yes = pattern.MatchList(c.list, e.user())
		case "localuser":
			yes = pattern.MatchList(c.list, e.local.user)
		case "exec":
			if unknown != "" || e.fail != nil {
				continue
			}
			yes = e.runs(c.list, w.at)
		default:
			unknown = c.name
			continue
		}
		if yes == c.negate {
			return false
		}
	}
	if unknown == "" {
		return e.fail == nil
	}
	// All other criteria match, so OpenSSH might apply the block.
	e.warnUnused(w.at, "Match "+unknown, notEvaluated)
	return false
}
