package shell

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"bolt/internal/lazyregexp"
	"bolt/transport"
)

// An escalation is how a script comes to run as another user.
type escalation struct {
	as    transport.RunAs
	token string
	user  string // the login user, for messages
	host  string
	// silent has sudo fail instead of asking, so that what follows the script
	// can never be taken for an answer.
	silent bool
}

// Unasked remembers for whom sudo has asked for nothing the last time, on one
// machine by one login. The zero value remembers nothing.
type Unasked struct {
	mu  sync.Mutex
	all map[string]bool
}

// maxUnasked bounds what is remembered.
const maxUnasked = 64

func (u *Unasked) has(e *escalation) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[e.key()]
}

// learn notes whether sudo has asked.
func (u *Unasked) learn(e *escalation, asked bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if asked || len(u.all) >= maxUnasked {
		delete(u.all, e.key())
		return
	}
	if u.all == nil {
		u.all = make(map[string]bool)
	}
	u.all[e.key()] = true
}

func (e *escalation) key() string { return e.program() + "\x00" + e.as.User }

// escalate returns nil if as asks for nobody else than the login user.
func escalate(as transport.RunAs, token string, o *Options) *escalation {
	if as.User == "" || as.User == o.User {
		return nil
	}
	return &escalation{as: as, token: token, user: o.User, host: o.Host}
}

// program is what makes the other user.
func (e *escalation) program() string {
	if !e.sudo() {
		return e.as.Command[0]
	}
	return cmp.Or(e.as.Executable, "sudo")
}

func (e *escalation) sudo() bool { return e != nil && len(e.as.Command) == 0 }

// line runs a script as the other user. Not all shells replace themselves by
// what they run if they are not told to; then its death by a signal would be
// theirs to report. sudo speaks English to us, whatever
// the login's language is, because its refusals are told from other text by
// their words; restoreLocale, which script must begin with, takes that back.
func (e *escalation) line(script string) string {
	if !e.sudo() {
		return "exec " + quoteWords(append(append([]string{}, e.as.Command...), e.as.User, "sh", "-c", script))
	}
	silent := ""
	if e.silent {
		silent = "-n "
	}
	return `LC_ALL=C exec ` + Quote(e.program()) + ` -S ` + silent + `-H -u ` + Quote(e.as.User) + ` -p ` + Quote(e.prompt()) +
		` sh -c ` + Quote(script) + ` sh "${LC_ALL+=}${LC_ALL-}"`
}

// prompt is what makes sudo print the token and promptMark. sudo prints "%%" as
// "%" (sudo(8), -p), so the mark is never in the line itself: a shell that
// shows its lines (set -x, an error in them) cannot be taken for sudo.
func (e *escalation) prompt() string {
	return strings.ReplaceAll(e.token, "%", "%%") + string(promptMark)
}

// restoreLocale undoes what line did to LC_ALL, unless sudo's own rules have
// set it aside. $1 is "=" and the value that it had, or empty.
const restoreLocale = `if [ "${LC_ALL-}" = C ]; then case ${1-} in =*) LC_ALL=${1#=};; *) unset LC_ALL;; esac; fi`

// maxSaid bounds what is kept of the text before a script begins.
const maxSaid = 64 << 10

// foreignPrompt is how long a text that looks like a question may stand before
// the script has begun. sudo shows a prompt of its own only where PAM asks for
// something else than the password (a code, another password); nobody would
// ever answer, so it is an error in time.
const foreignPrompt = 10 * time.Second

// sudo's refusals, as sudo 1.8 and 1.9 word them (plugins/sudoers).
var (
	refusedPassword = lazyregexp.New(`(?m)^(?:Sorry, try again\.|sudo: \d+ incorrect password attempts?)`)
	refusedUser     = lazyregexp.New(`(?m)^(?:\S+ is not in the sudoers file|Sorry, user \S+ (?:is not allowed to execute|may not run sudo))`)
	refusedSilence  = lazyregexp.New(`(?m)^sudo: .*\b(?:password|authentication) is required`)
	refusedTTY      = lazyregexp.New(`(?m)^(?:sudo: )?sorry, you must have a tty to run sudo`)
)

// refusal recognises sudo's own refusal in what came before the script began
// (and it never did); nil if it is something else, which is then the command's
// output, as with Bolt.
func (e *escalation) refusal(said []byte) *transport.Error {
	switch {
	case !e.sudo():
		return nil
	case refusedTTY().Match(said):
		return e.error("SUDO_DENIED", fmt.Sprintf("sudo on %s runs only from a terminal", e.host),
			"Set tty to true for the target, or remove requiretty from its sudoers file.")
	case refusedUser().Match(said):
		return e.error("SUDO_DENIED", fmt.Sprintf("User %s does not have sudo permission on %s", e.user, e.host), "")
	case refusedPassword().Match(said):
		return e.badPassword()
	}
	return nil
}

func (e *escalation) badPassword() *transport.Error {
	return e.error("BAD_PASSWORD", fmt.Sprintf("Sudo password for user %s not recognized on %s", e.user, e.host), "")
}

func (e *escalation) noPassword() *transport.Error {
	return e.error("NO_PASSWORD", fmt.Sprintf("Sudo password for user %s was not provided for %s", e.user, e.host), "")
}

// foreign is the error for a question that is not sudo's for the password.
func (e *escalation) foreign(said []byte) *transport.Error {
	question := said[bytes.LastIndexByte(said, '\n')+1:]
	return e.error("", fmt.Sprintf("run-as on %s waits for an answer to %q, which is not sudo's prompt for the password", e.host, FirstLines(string(question))),
		"Add \"Defaults passprompt_override\" to its sudoers file if this is a prompt for the password.")
}

// asks reports whether said ends in what looks like a question.
func asks(said []byte) bool {
	said = bytes.TrimRight(said, " ")
	return len(said) > 0 && (said[len(said)-1] == ':' || said[len(said)-1] == '?')
}

func (e *escalation) error(code, msg, hint string) *transport.Error {
	return &transport.Error{Class: transport.ClassRunAs, Code: code, Msg: msg, Hint: hint}
}
