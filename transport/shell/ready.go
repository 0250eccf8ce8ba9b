package shell

import (
	"context"
	"errors"
	"io"
	"slices"
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

// maxReadyWords bounds the words of a command for a ready shell, which reads
// its script byte by byte.
const maxReadyWords = 8 << 10

// ReadyLine is the line that makes a login shell ready. It prints
// ReadyMark(token) on stdout and stderr once it can be given a script, and ends
// with its standard input or if it is none that may be used.
func ReadyLine(token string) string { return readyBegins + waits(token) + readyEnds }

// One is started for each script, so the parts are put together once.
var readyBegins, readyEnds, _ = strings.Cut(proving(`case ${SHELL##*/} in ksh*) exit 0;; esac; `+isFresh+`_bolt_ok || exit 0; `+
	newLine+textTools+readyTend+`() { `+tendBefore+quotedTending+tendWith+`"$@"`+tendBehind+`; }; _bolt_s=; _bolt_e=; _bolt_d=; `+"\x00"+
	`while IFS= TMOUT= read -r _bolt_l; do case $_bolt_l in .*) _bolt_d=1; break;; `+
	`-*) _bolt_e=$_bolt_e${_bolt_l#-}$_bolt_n;; *) _bolt_s=$_bolt_s${_bolt_l#+}$_bolt_n;; esac; done; `+
	`[ -n "$_bolt_d" ] || exit 0; eval "$_bolt_s${_bolt_l#.}"`), "\x00")

// readyTend is the function of a ready shell that runs tending.
const readyTend = "_bolt_w"

// waits says on both streams that a shell waits. Whatever else its start prints
// would come in each new session, too, and is looked for in front of that.
func waits(token string) string {
	return `printf '%s\n' ` + Quote(token) + `; printf '%s\n' ` + Quote(token) + ` >&2; `
}

// ReadyMark is what a ready shell says of itself.
func ReadyMark(token string) string { return token + "\n" }

// readyText is a script as a ready shell reads it: the last line begins with a
// dot, the others with a plus sign. Steps that it is to obey later are in front:
// their lines begin with a minus sign, and none of them counts as the script's.
func readyText(steps, script string) string {
	at := strings.LastIndexByte(script, '\n') + 1
	head, last := script[:at], script[at:]
	return behind("-", steps) + behind("+", strings.TrimSuffix(head, "\n")) + "." + last + "\n"
}

// behind puts a sign in front of each line.
func behind(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + strings.ReplaceAll(text, "\n", "\n"+sign) + "\n"
}

// runReady runs the plan in a ready shell. It reports false if there was none
// or if it did not take the script, which then has provably not begun.
func (p *plan) runReady(ctx context.Context, w Warmer) (transport.Status, error, bool) {
	if !p.fitsReady() || ctx.Err() != nil {
		return transport.Status{}, nil, false
	}
	sess, taken := w.Ready()
	if sess == nil {
		return transport.Status{}, nil, false
	}
	ready := *p
	ready.ready = true
	if p.as.sudo() && p.o.Unasked != nil && p.o.Unasked.has(p.as) {
		silent := *p.as
		silent.silent = true
		ready.as = &silent
	}
	ready.pack()
	x := ready.exchange()
	x.text = readyText(ready.steps, x.line)
	st, err := x.runOn(ctx, sess)
	taken(!x.declined || x.failed != nil)
	if x.declined && x.failed == nil {
		logger(&p.o).Debug("ready shell did not take a script", "target", p.o.Host)
		return transport.Status{}, nil, false
	}
	ready.learn(x)
	if ready.as != nil && ready.as.silent && x.asked && !x.hasBegun && ctx.Err() == nil {
		return transport.Status{}, nil, false // sudo wants an answer
	}
	st, err = ready.outcome(x, st, err)
	return st, err, !errors.Is(err, errNoTexts)
}

// fitsReady reports whether there is data to send, without which an exec
// request is as fast, and whether the script ends in an exec and is not too
// long.
func (p *plan) fitsReady() bool {
	size := len(p.c.Line) + len(p.c.Dir)
	for _, word := range slices.Concat(p.c.Interpreter, p.c.Argv) {
		size += len(word)
	}
	return !p.c.TTY && p.shell == posix && p.brings() && (len(p.c.Argv) > 0 || p.as != nil || len(p.c.Env) > 0) && size <= maxReadyWords
}

// inPlace reports whether the command takes the place of a ready shell without
// another between.
func (p *plan) inPlace() bool { return p.ready && p.as == nil && p.block == "" }

// takes is the beginning of a script for a ready shell: it goes on only if the
// shell is still fresh and has the program that it is to become, and says so.
// Where the shell itself goes on, it has begun with that.
func (p *plan) takes() string {
	if p.inPlace() {
		return `_bolt_t=` + p.token + `; _bolt_ok || exit 0; ` + began(`"$_bolt_t"`, "2") + `; `
	}
	check := `_bolt_ok || exit 0; `
	if p.as != nil {
		check += `command -v ` + Quote(p.as.program()) + ` >/dev/null 2>&1 || exit 0; `
	}
	return check + taken(p.token) + `; `
}

// sendText writes a script to the shell that waits for it.
func (r *running) sendText(w io.Writer) {
	_, _ = io.WriteString(w, r.text) // if the shell is gone, it has not taken it
}
