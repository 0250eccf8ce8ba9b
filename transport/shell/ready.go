package shell

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

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
		`_bolt_n=$(printf '\nx'); _bolt_n=${_bolt_n%x}; _bolt_s=; _bolt_d=; ` + readyTending + `=` + Quote(tending) + `; eval "` + textInput + `"; ` + textFile + waits(token) +
		`while IFS= TMOUT= read -r _bolt_l; do case $_bolt_l in .*) _bolt_d=1; break;; esac; ` +
		`_bolt_s=$_bolt_s${_bolt_l#+}$_bolt_n; done; ` +
		`[ -n "$_bolt_d" ] || exit 0; eval "$_bolt_s${_bolt_l#.}"`)
}

// readyTending is the variable of a ready shell that holds tending.
const readyTending = "_bolt_w"

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
	if p.as.sudo() && p.o.Unasked != nil && p.o.Unasked.has(p.as) {
		silent := *p.as
		silent.silent = true
		ready.as = &silent
	}
	ready.pack()
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
	ready.learn(x)
	if ready.as != nil && ready.as.silent && x.asked && !x.hasBegun && ctx.Err() == nil {
		return transport.Status{}, nil, false // sudo wants an answer
	}
	st, err = ready.outcome(x, st, err)
	return st, err, true
}

// fitsReady reports whether there is data to send, without which an exec
// request is as fast, and whether the script ends in an exec.
func (p *plan) fitsReady() bool {
	return !p.c.TTY && p.shell == posix && (p.env != "" || p.stage != nil) && (len(p.c.Argv) > 0 || p.as != nil || p.env != "")
}

// maxInput bounds the data for stdin that is in the script itself: what a pipe
// takes for certain without a reader (pipe(7)). A page is also what costs no
// more to read byte by byte than a program that reads it.
const maxInput = 4 << 10

// isText reports whether data for stdin may be in a script: every shell reads
// and prints it as it is.
func isText(data []byte) bool {
	if len(data) > maxInput || !utf8.Valid(data) {
		return false
	}
	for _, b := range data {
		if b < ' ' && b != '\n' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// textInput defines a function, as eval reads it, that puts $_bolt_i into stdin
// without a process, and without a file that others of the user could see: a
// here-document is a pipe, or a file without a name, and Linux opens either
// again. It must have a line (bash takes /dev/null for an empty one), which is
// taken out. mksh alone has no printf of its own. It is a function so that no
// line of the script comes to count as a later one in messages.
const textInput = `_bolt_h() { exec <<_bolt_$_bolt_n${_bolt_n}_bolt_${_bolt_n}read -r _bolt_l; ` +
	`case \${KSH_VERSION-} in *MIRBSD*) print -rn -- \"\$_bolt_i\";; *) printf %s \"\$_bolt_i\";; esac >/dev/fd/0 && exec </dev/fd/0; }`

// textFile defines "_bolt_f FILE UMASK", which writes $_bolt_i to a file, and
// remembers the shell's umask.
const textFile = `_bolt_v=$(umask); _bolt_f() { umask "$2"; ` +
	`case ${KSH_VERSION-} in *MIRBSD*) print -rn -- "$_bolt_i";; *) printf %s "$_bolt_i";; esac >"$1"; }; `

// fromText is a command that calls it.
func (p *plan) fromText() string {
	return "_bolt_i=" + Quote(p.input) + `; _bolt_h || { ` + failure(p.token, stepInput, "", "2") + `; exit 1; }`
}

// inPlace reports whether the command takes the place of a ready shell without
// another between.
func (p *plan) inPlace() bool { return p.ready && p.as == nil && p.env == "" }

// takes is the beginning of a script for a ready shell: it goes on only if the
// shell is still fresh and has the program that it is to become, and says so.
// Where the shell itself goes on, it has begun with that.
func (p *plan) takes() string {
	if p.inPlace() {
		return `_bolt_ok || exit 0; ` + began(p.token, "2") + `; `
	}
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
