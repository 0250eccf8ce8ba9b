package shell

import (
	"context"
	"io"
	"strings"

	"bolt/transport"
)

// A ready shell is a session that has been started ahead. Its login shell
// waits for a script on its standard input, then runs it in its own place: as
// a command line that comes with its data in one flight, where an exec request
// must be answered before data may follow.
//
// Only our own scripts go there whose last step is an exec, so that nothing of
// the waiting shell is left in the command. Its own messages until then are
// those of "-c" in the shells that are admitted; ksh says "eval" in them.

// maxReadyText bounds a script for a ready shell, which reads it byte by byte.
const maxReadyText = 16 << 10

// ReadyLine is the line that makes a login shell ready. It prints
// ReadyMark(token) on stdout and stderr once it can be given a script, and ends
// with its standard input or if it is none that may be used.
func ReadyLine(token string) string {
	return proving(`case ${SHELL##*/} in ksh*) exit 0;; esac; ` + isFresh + `_bolt_ok || exit 0; ` +
		`_bolt_n=; _bolt_s=; _bolt_d=; ` + waits(token) +
		`while IFS= TMOUT= read -r _bolt_l; do case $_bolt_l in .*) _bolt_d=1; break;; esac; ` +
		`[ -n "$_bolt_n" ] || { _bolt_n=$(printf '\nx'); _bolt_n=${_bolt_n%x}; }; _bolt_s=$_bolt_s${_bolt_l#+}$_bolt_n; done; ` +
		`[ -n "$_bolt_d" ] || exit 0; eval "$_bolt_s${_bolt_l#.}"`)
}

// waits says on both streams that a shell waits. Whatever else its start prints
// would come in each new session, too, and is looked for in front of that.
func waits(token string) string {
	return `printf '%s\n' ` + Quote(token) + `; printf '%s\n' ` + Quote(token) + ` >&2; `
}

// ReadyMark is what a ready shell says of itself.
func ReadyMark(token string) string { return token + "\n" }

// readyText is a script as a ready shell reads it: the last line begins with a
// dot, the others with a plus sign.
func readyText(script string) string {
	at := strings.LastIndexByte(script, '\n') + 1
	head, last := script[:at], script[at:]
	if head != "" {
		head = "+" + strings.ReplaceAll(head[:at-1], "\n", "\n+") + "\n"
	}
	return head + "." + last + "\n"
}

// runReady runs the plan in a ready shell. It reports false if there was none
// or if it did not take the script, which then has provably not begun.
func (p *plan) runReady(ctx context.Context, w Warmer) (transport.Status, error, bool) {
	if !p.fitsReady() || ctx.Err() != nil {
		return transport.Status{}, nil, false
	}
	ready := *p
	ready.ready = true
	x := ready.exchange()
	if len(x.line) > maxReadyText {
		return transport.Status{}, nil, false
	}
	sess, taken := w.Ready()
	if sess == nil {
		return transport.Status{}, nil, false
	}
	x.text = readyText(x.line)
	st, err := x.runOn(ctx, sess)
	taken(!x.declined)
	if x.declined {
		logger(&p.o).Debug("ready shell did not take a script", "target", p.o.Host)
		return transport.Status{}, nil, false
	}
	st, err = p.outcome(x, st, err)
	return st, err, true
}

// fitsReady reports whether there is data to send, without which an exec
// request is as fast, and whether the script ends in an exec.
func (p *plan) fitsReady() bool {
	return !p.c.TTY && p.shell == posix && (p.env != "" || p.stage != nil) && (len(p.c.Argv) > 0 || p.as != nil || p.env != "")
}

// takes is the beginning of a script for a ready shell: it goes on only if the
// shell is still fresh and has the program that it is to become, and says so.
func (p *plan) takes() string {
	check := `_bolt_ok || exit 0; `
	if p.as != nil {
		check += `command -v ` + Quote(p.as.program()) + ` >/dev/null 2>&1 || exit 0; `
	}
	return check + `printf '%s+\n' ` + p.token + ` >&2; `
}

// sendText writes a script to the shell that waits for it.
func (r *running) sendText(w io.Writer) {
	_, _ = io.WriteString(w, r.text) // if the shell is gone, it has not taken it
}
