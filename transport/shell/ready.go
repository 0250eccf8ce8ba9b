package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bolt/transport"
)

// A ready shell is a session that was started in advance. Its login shell waits
// for a line on its standard input and then replaces itself by that line. The
// data for the line can be sent together with it, whereas an exec request must
// be answered before data can follow. So a ready shell saves a round trip if
// there is data.
//
// A ready shell must behave like the shell of a new session. It proves the
// following without starting a process, once when it starts and again when it
// is used:
//
//   - The shell that runs the proof is the account's shell, and sshd itself has
//     started it. Otherwise a wrapper that records commands, or a restricted or
//     forced command, would no longer see the commands. The proof uses SHELL, the
//     name that sshd gave to the shell, the entry in /etc/passwd, if there is
//     one, and the parent process. It cannot detect a forced command that becomes
//     the same shell under the same name and hides its purpose.
//   - Its start-up files have no effect, neither now nor when it started. They are
//     read for each proof. A start-up file has no effect if it is missing, if it
//     has only comments, or if it begins with a known early exit for scripts.
//     bash(1) reads the files when sshd starts it, if SHLVL is below 2
//     ("Invocation"). zsh always reads some, so it never proves anything. dash(1),
//     mksh(1) and busybox read none.
//   - A session would start in this directory: the home directory is still
//     the same directory under the same name.
//   - sshd would run nothing before the shell and would not refuse the login
//     (sshd(8), "LOGIN PROCESS" and "SSHRC").
//
// A fact that a machine cannot show (no /proc, an unknown shell) counts as not
// proven.

// A Warmer is a Starter that can have a ready shell.
type Warmer interface {
	Starter
	// Ready returns a session whose shell has printed the mark of ReadyLine, or
	// nil if there is none. It does not wait. The caller must call taken once
	// and report whether the shell has taken a line.
	Ready() (s Session, taken func(bool))
}

// ReadyLine returns the line that makes a login shell ready. The shell prints
// ReadyMark(token) on stdout and stderr when it can take a line. It ends at the
// end of its standard input, or if it cannot be used as a ready shell. If
// functions may replace the builtins that the proof needs, nothing is proven;
// bash can list its functions.
func ReadyLine(token string) string {
	return `case ${BASH_VERSION-} in ?*) compgen -A function;; *) false;; esac || { ` + mayProve + bySSHD + newLine + isFresh + `_bolt_ok || exit 0; ` +
		`printf '%s\n' ` + Quote(token) + `; printf '%s\n' ` + Quote(token) + ` >&2; ` + takesLine + `; }`
}

// ReadyMark returns the mark that a ready shell prints.
func ReadyMark(token string) string { return token + "\n" }

// takesLine reads a line in the format of readyText and runs it.
const takesLine = `_bolt_s=; _bolt_d=; while IFS= TMOUT= read -r _bolt_l; do case $_bolt_l in .*) _bolt_d=1; break;; *) _bolt_s=$_bolt_s${_bolt_l#+}$_bolt_n;; esac; done; ` +
	`[ -n "$_bolt_d" ] || exit 0; eval "$_bolt_s${_bolt_l#.}"`

// readyText returns a line in the format for a ready shell. The line may have
// line ends in quotes: its last part begins with a dot, the others with a plus
// sign.
func readyText(line string) string {
	parts := strings.Split(line, "\n")
	last := len(parts) - 1
	var text strings.Builder
	for _, part := range parts[:last] {
		text.WriteString("+" + part + "\n")
	}
	return text.String() + "." + parts[last] + "\n"
}

// newLine sets $_bolt_n to a line end. It contains no line end itself, because
// that would change the line numbers in messages, and it starts no process. IFS
// ends with a line end if start-up files have no effect.
const newLine = `_bolt_n=${IFS#??}; case $_bolt_n in ''|??*|[[:blank:]]|[![:space:]]) exit 0;; esac; `

// mayProve ends a shell that could never prove anything, or whose options
// change how it reads or prints commands. ksh prints "eval" in its messages.
const mayProve = `case ${SHELL##*/} in sh|bash|dash|ash|mksh) ;; *) exit 0;; esac; ` +
	`case $- in *[aefknuvx]*) exit 0;; esac; ` +
	`[ -z "${ZSH_VERSION-}${BASH_ENV-}${SSH_ORIGINAL_COMMAND-}" ] || exit 0; `

// bySSHD ends a shell that sshd has not started, or that is not the account's
// shell.
const bySSHD = `[ "$0" = "${SHELL##*/}" ] && read -r _bolt_l <"/proc/$PPID/comm" || exit 0; ` +
	`case $_bolt_l in sshd*|dropbear*) ;; *) exit 0;; esac; ` +
	`_bolt_x=1; while [ "$_bolt_x" ]; do ` +
	`IFS=: read -r _bolt_u _bolt_k _bolt_k _bolt_k _bolt_k _bolt_k _bolt_l || _bolt_x=; ` +
	`[ "$_bolt_u" != "${LOGNAME-}" ] || { _bolt_x=; [ "$_bolt_l" -ef "/proc/$$/exe" ] || exit 0; }; done </etc/passwd; `

// inert defines a function that reports whether a start-up file has no effect.
// It recognizes the early exits in the files of Debian, Ubuntu, Arch and
// Gentoo. bash unsets PS1 in scripts.
const inert = `_bolt_i() { [ -e "$1" ] || return 0; [ -f "$1" ] && [ -r "$1" ] || return 1; _bolt_k=0; _bolt_x=1; ` +
	`while [ "$_bolt_x" ]; do read -r _bolt_l || _bolt_x=; case $_bolt_k$_bolt_l in ` +
	`0|'0#'*) ;; '0case $- in') _bolt_k=1;; '1*i*) ;;') _bolt_k=2;; '2*) return;;') _bolt_k=3;; ` +
	`3esac|'0[ -z "$PS1" ] && return'|'0[[ $- != *i* ]] && return'|'0[[ $- == *i* ]] || return'|'0case $- in *i*) ;; *) return;; esac') return 0;; ` +
	`*) return 1;; esac; done <"$1"; [ "$_bolt_k" = 0 ]; }; `

// isFresh defines the function _bolt_ok, which reports whether this shell
// behaves like the shell of a new session.
const isFresh = inert +
	`_bolt_ok() { _bolt_l=$PWD; while [ -n "$_bolt_l" ]; do [ ! -h "$_bolt_l" ] || return 1; ` +
	`case $_bolt_l in */*) _bolt_l=${_bolt_l%/*};; *) return 1;; esac; done; ` +
	`[ . -ef "$HOME" ] && [ "$PWD" -ef . ] && [ -x . ] && ` +
	`[ "$SHELL" -ef "/proc/$$/exe" ] && [ ! -e /etc/nologin ] && ` +
	`[ ! -e /etc/ssh/sshrc ] && [ ! -e "$HOME/.ssh/rc" ] && [ ! -e "$HOME/.ssh/environment" ] && ` +
	`{ [ -z "${BASH_VERSION-}" ] || [ "$SHLVL" -gt 1 ] || { ` +
	`_bolt_i /etc/bash.bashrc && _bolt_i /etc/bashrc && _bolt_i /etc/bash/bashrc && _bolt_i "$HOME/.bashrc"; }; }; }; `

// maxReadyWords limits the length of a command for a ready shell, because the
// shell reads its line byte by byte.
const maxReadyWords = 8 << 10

// fitsReady reports whether a ready shell is useful for the plan: the plan has
// data to send (without data, an exec request is as fast), and its line is
// short enough and for sh.
func (p *plan) fitsReady() bool {
	size := len(p.c.Line) + len(p.c.Dir)
	for _, word := range slices.Concat(p.c.Interpreter, p.c.Argv) {
		size += len(word)
	}
	return !p.c.TTY && p.c.Input == nil && p.shell == posix && p.sends() && (len(p.c.Argv) > 0 || p.as != nil || p.block != "") && size <= maxReadyWords
}

// runReady runs the plan in a ready shell. It returns false if there is none,
// or if nothing has begun: the shell did not take the line, or sudo asks for a
// password although it did not the last time.
func (p *plan) runReady(ctx context.Context, w Warmer) (transport.Status, error, bool) {
	if !p.fitsReady() || ctx.Err() != nil {
		return transport.Status{}, nil, false
	}
	sess, taken := w.Ready()
	if sess == nil {
		return transport.Status{}, nil, false
	}
	q := *p
	if p.as.sudo() && p.o.Unasked != nil && p.o.Unasked.has(p.as) {
		silent := *p.as
		silent.silent = true
		q.as = &silent
	}
	x := q.exchange()
	ok, err := q.giveLine(ctx, sess, x)
	taken(ok || err != nil)
	if !ok {
		return transport.Status{}, err, err != nil
	}
	st, err := x.runOn(ctx, sess)
	q.learn(x)
	if q.as != nil && q.as.silent && x.asked && !x.hasBegun && ctx.Err() == nil {
		return transport.Status{}, nil, false
	}
	st, err = q.outcome(x, st, err)
	return st, err, true
}

// giveLine sends the exchange's line to a ready shell, and the data as well if
// it need not wait until the script has begun. It returns false if the shell
// has ended without taking the line, and an error if that is unknown.
func (p *plan) giveLine(ctx context.Context, sess Session, x *exchange) (ok bool, err error) {
	line := `_bolt_ok || exit 0; `
	if p.as != nil {
		line += `command -v ` + Quote(p.as.program()) + ` >/dev/null 2>&1 || exit 0; `
	}
	mark := x.token + "+\n"
	text := readyText(line + `printf '%s+\n' ` + x.token + `; printf '%s+\n' ` + x.token + ` >&2; ` + x.line)
	sent := make(chan struct{})
	send := x.send
	go func() { // ends when sent is closed
		defer close(sent)
		_, err := io.WriteString(sess.Stdin(), text)
		if err == nil && send != nil && !x.afterBegan {
			_ = send(sess.Stdin()) // the end of the session explains an error
		}
	}()
	if send != nil && !x.afterBegan {
		x.send = func(io.Writer) error {
			<-sent
			return nil
		}
	}
	said := make(chan bool, 2)
	for _, stream := range []io.Reader{sess.Stdout(), sess.Stderr()} {
		go func() {
			got := make([]byte, len(mark))
			_, err := io.ReadFull(stream, got)
			said <- err == nil && bytes.Equal(got, []byte(mark))
		}()
	}
	var late <-chan time.Time
	heard := 0
	for n, done := 0, ctx.Done(); n < 2; {
		select {
		case well := <-said:
			n++
			if well {
				heard++
			}
		case <-done: // a command that has begun can be stopped properly
			done, late = nil, time.After(lineTaken)
		case <-late:
			sess.Close()
		}
	}
	if heard == 2 {
		return true, nil
	}
	sess.Close()
	<-sent
	switch {
	case ctx.Err() != nil:
		e := stopped(ctx, "command", p.o.Host, " as it started: it may run")
		e.Err = errors.Join(ErrMayRun, e.Err)
		return false, e
	case heard == 1:
		return false, &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("The login shell on %s lost a stream when a command began: the command may have run", p.o.Host)}
	}
	logger(&p.o).Debug("ready shell did not take a line", "target", p.o.Host)
	return false, nil
}

// lineTaken is the time to wait for the answer of a ready shell after the
// command was cancelled.
const lineTaken = 2 * time.Second
