package shell

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"bolt/transport"
)

// A resident shell is a login shell that runs line after line in its own
// place, for lines of which nobody could tell it from a new session's
// (builtin.go). The server starts nothing for them.
//
// A command with processes is another thing: run by a resident shell, its
// parent and SHLVL would be others, death by a signal would look like an exit
// status above 128, and its streams would be FIFOs.

// residentBuiltins must be commands of the shell itself.
const residentBuiltins = "true false : echo printf test [ pwd"

// ResidentLine is the line that makes a login shell resident. It prints
// ResidentMark(token) on stdout and stderr once it takes requests, and ends with
// its standard input, when it is not as a new session's would be any more, or if
// it is none that may be used.
func ResidentLine(token string) string {
	return proving(`[ "$(for _bolt_c in ` + residentBuiltins + `; do command -v "$_bolt_c"; done | tr '\n' ' ')" = '` + residentBuiltins + ` ' ] || exit 0; ` +
		isFresh + `_bolt_ok || exit 0; ` + waits(token) +
		`while IFS= TMOUT= read -r _bolt_q; do _bolt_ok || exit 0; eval "$_bolt_q"; done`)
}

// ResidentMark is what a resident shell says of itself.
func ResidentMark(token string) string { return token + "\n" }

// residentRequest runs a builtin line and has its status told behind its
// output.
func residentRequest(line, token string) []byte {
	return []byte(strings.TrimRight(line, " ;") + `; printf '\n%s %d\n' ` + token + " $?\n")
}

// parseAnswer takes an answer apart; done says that it is whole, ok that it is
// one.
func parseAnswer(answer []byte, token string) (out []byte, code int, done, ok bool) {
	if !bytes.HasSuffix(answer, []byte("\n")) {
		return nil, 0, false, false
	}
	i := bytes.LastIndex(answer, []byte("\n"+token+" "))
	if i < 0 {
		return nil, 0, false, false
	}
	code, err := strconv.Atoi(string(answer[i+len(token)+2 : len(answer)-1]))
	return answer[:i], code, true, err == nil && code >= 0 && code <= 255
}

// askResident runs the plan in the resident shell. It reports false if that is
// not possible, or if there is no answer: then nothing has happened.
func (p *plan) askResident(ctx context.Context, w Warmer) (transport.Status, error, bool) {
	if p.c.TTY || !p.plain() || p.shell != posix || ctx.Err() != nil || !isBuiltin(p.c.Line) {
		return transport.Status{}, nil, false
	}
	asking, reject := context.WithCancel(ctx)
	defer reject()
	answer, ok := w.Ask(asking, residentRequest(p.c.Line, p.token), func(answer []byte) bool {
		_, _, done, ok := parseAnswer(answer, p.token)
		if done && !ok {
			reject() // who knows what else it has to say
		}
		return ok
	})
	if !ok {
		if ctx.Err() != nil {
			return transport.Status{}, stopped(ctx, "command", p.o.Host, "; it does nothing there"), true
		}
		return transport.Status{}, nil, false
	}
	out, code, _, _ := parseAnswer(answer, p.token)
	if p.c.Stdout != nil && len(out) > 0 {
		if _, err := p.c.Stdout.Write(out); err != nil {
			return transport.Status{}, sinkFailed("command", p.o.Host, err), true
		}
	}
	return transport.Status{Code: code}, nil, true
}
