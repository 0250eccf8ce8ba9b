package shell

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"bolt/transport"
)

// A login shell takes what is small and text itself, if it is known how: files,
// the data for stdin, the environment. It sets and writes them by its builtins,
// where for bytes there is a process for each file. Only a ready shell, in front
// of whose script they come, and a bash that sees nothing in its way do so.

const (
	// maxText bounds the files and the data for stdin that are texts together:
	// what a pipe takes for certain without a reader (pipe(7)). A page is also
	// what costs no more to read byte by byte than a program that reads it.
	maxText = 4 << 10
	// maxExports bounds an environment that is a text.
	maxExports = 4 << 10
)

// isText reports whether data may be a text: every shell reads and prints it
// as it is.
func isText(data []byte) bool {
	if len(data) > maxText || !utf8.Valid(data) {
		return false
	}
	for _, b := range data {
		if b < ' ' && b != '\n' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// mayBeText reports whether a file may be one: the shell must be allowed to
// write to it.
func mayBeText(data []byte, mode uint32) bool {
	return len(data) > 0 && mode&0o200 != 0 && isText(data)
}

// newLine sets $_bolt_n to a line end without having one, which would make
// later lines of the script, as messages count them, and without a process. IFS
// ends in one where start-up files have no effect.
const newLine = `_bolt_n=${IFS#??}; case $_bolt_n in ''|??*|[[:blank:]]|[![:space:]]) exit 0;; esac; `

// textTools defines functions that do something with $_bolt_i, by builtins:
//
//	_bolt_o       prints it
//	_bolt_h       makes it the standard input
//	_bolt_f FILE  writes it to a file that is there
//	_bolt_r       does the former
//	_bolt_p FILE  does the latter
//
// The last two say so and exit if they cannot; $_bolt_t is the token of marks.
//
// A file for stdin could be seen by others of the user. A here-document is a
// pipe, or a file without a name, and Linux opens either again. It must have a
// line (bash takes /dev/null for an empty one), which is taken out. Of the shells
// that can be ready, mksh alone has no printf of its own.
const textTools = `_bolt_o() { case ${KSH_VERSION-} in *MIRBSD*) print -rn -- "$_bolt_i";; *) printf %s "$_bolt_i";; esac; }; ` +
	`eval "_bolt_h() { exec <<_bolt_$_bolt_n${_bolt_n}_bolt_${_bolt_n}read -r _bolt_l; _bolt_o >|/dev/fd/0 && exec </dev/fd/0; }"; ` +
	`_bolt_f() { _bolt_o >|"$1"; }; ` +
	`_bolt_r() { _bolt_h 2>/dev/null || { printf '%s#` + stepTexts + ` %s.\n' "$_bolt_t" "$_bolt_t" >&2; exit 1; }; }; ` +
	`_bolt_p() { _bolt_f "$1" 2>/dev/null || { _bolt_m=$(_bolt_f "$1" 2>&1); printf '%s#` + stepWrite + ` %s%s.\n' "$_bolt_t" "$_bolt_m" "$_bolt_t" >&2; exit 1; }; }; `

// Texts remembers that a login shell took none: one that was asked in the line
// itself, or a ready one, which is asked nothing. The zero value knows of neither.
type Texts struct{ asked, ready atomic.Pointer[time.Time] }

// textsLast is how long it is given none again: its start-up files may change.
const textsLast = 10 * time.Minute

func (t *Texts) of(ready bool) *atomic.Pointer[time.Time] {
	if ready {
		return &t.ready
	}
	return &t.asked
}

func (t *Texts) refuse(ready bool) {
	now := time.Now()
	t.of(ready).Store(&now)
}

// Refuses reports whether it took none of late.
func (t *Texts) Refuses(ready bool) bool {
	at := t.of(ready).Load()
	return at != nil && time.Since(*at) < textsLast
}

// errNoTexts says that the login shell takes no texts, and nothing was run.
var errNoTexts = errors.New("the login shell takes no texts")

// runByTexts runs the plan in a session of its own whose login shell takes texts.
// It reports false if there are none, or if the shell does not take them: then
// nothing has been run.
func (p *plan) runByTexts(ctx context.Context, s Starter) (transport.Status, error, bool) {
	if p.o.Texts == nil || p.c.TTY || p.shell != posix || !p.brings() {
		return transport.Status{}, nil, false
	}
	asking := *p
	asking.asks, asking.heard = true, p.o.Proof.isHeard()
	if asking.pack(); !asking.inText {
		return transport.Status{}, nil, false
	}
	x := asking.exchange()
	if len(x.line) > maxSent {
		return transport.Status{}, nil, false
	}
	st, err := x.run(ctx, s)
	if x.unproven && p.o.Proof != nil {
		p.o.Proof.heard.Store(nil)
	}
	st, err = asking.outcome(x, st, err)
	return st, err, !errors.Is(err, errNoTexts)
}

// textBuiltins are those that no function may stand for. Who has one of the name
// declare that hides itself is not found out.
const textBuiltins = "[ cd command compgen declare eval exec exit export printf read set trap true unset"

// asksForTexts ends a login shell that is no bash (of version 4.1 or later), or
// one that does not read, show and run what it is given as a new one does:
// because of its options, aliases, functions or disabled builtins, or of TMOUT,
// which hardened machines make read-only. The answer rests on nothing but words
// of the syntax, and on declare and compgen.
func asksForTexts(token string) string {
	return `_bolt_k=; case $-${ZSH_VERSION+e}${KSH_VERSION+e}${TMOUT+e} in *[efknu]*) ;; *) ` +
		`case ${BASH_VERSION:+x}:${BASHOPTS-}: in x::|*:expand_aliases:*) ;; ` +
		`x:*) compgen -A disabled >/dev/null 2>&1; case $? in 1) _bolt_k=1; for _bolt_i in ` + textBuiltins + `; do declare -F "$_bolt_i" && _bolt_k=; done >/dev/null 2>&1;; esac;; ` +
		`esac;; esac; case $_bolt_k in '') ` + refusal(token, stepTexts) + `;; esac`
}

// readTexts is readBlock for the shell that has been asked. Without a name, its
// read keeps blanks whatever IFS is, which may be read-only.
func readTexts(token string) string {
	return `_bolt_n=$'\n'; ` + textTools + `_bolt_q() { read -r; _bolt_k=$?; _bolt_l=$REPLY; return "$_bolt_k"; }; ` + takeBlock(token)
}

// asTexts makes texts of what may be one, if the shell becomes the command.
func (p *plan) asTexts() {
	if !p.ready && !p.asks || p.as != nil || len(p.c.Argv) == 0 || p.o.Texts != nil && p.o.Texts.Refuses(p.ready) {
		return
	}
	size := 0
	for _, e := range p.c.Env {
		size += len(e)
	}
	if size > maxExports || !p.asLoginShell() {
		return
	}
	if isText(p.c.Stdin) {
		p.input = string(p.c.Stdin)
	}
	p.inText = true
}

// texts are the steps that take them.
func (p *plan) texts() []string {
	if !p.inText {
		return nil
	}
	var steps []string
	if p.stage != nil {
		steps = p.stage.texts()
	}
	if p.input != "" {
		steps = append(steps, `_bolt_i=`+Quote(p.input)+`; _bolt_r`)
	}
	return append(steps, assignments(p.c.Env)...)
}

// texts are the steps that write files once they are there.
func (s *staging) texts() []string {
	var steps []string
	for _, b := range s.blobs {
		if b.text != "" {
			steps = append(steps, `_bolt_i=`+Quote(b.text)+`; _bolt_p `+Quote(s.path(b.name)))
		}
	}
	return steps
}

// asLoginShell reports whether an environment means nothing to the login shell,
// or to what sets up a command: it can then become the command as it does
// without one.
func (p *plan) asLoginShell() bool {
	return len(p.c.Argv) > 0 && !slices.ContainsFunc(p.c.Env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !strings.HasPrefix(name, "PT_") || !transport.Exportable(name)
	})
}

// refusal is a command that tells on both streams that a step has failed, before
// the script has begun, and ends the shell.
func refusal(token, step string) string {
	return `{ trap - EXIT; for _bolt_i in 1 2; do command printf '%s#` + step + ` %s.\n' ` + token + ` ` + token + ` >&"$_bolt_i"; done; exit 0; }`
}
