package shell

import (
	"cmp"
	"strings"
	"sync"
	"time"

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
	tty    bool // there is a terminal to ask on
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
	if e.as.Method() == transport.MethodCommand {
		return e.as.Command[0]
	}
	return cmp.Or(e.as.Executable, "sudo")
}

func (e *escalation) sudo() bool { return e != nil && e.as.Method() == transport.MethodSudo }

// line runs a script as the other user. Not all shells replace themselves by
// what they run if they are not told to; then its death by a signal would be
// theirs to report. sudo, su and doas get an English locale, because bolt
// recognises their errors by their text. script must begin with restoreLocale, which
// restores the locale of the login.
func (e *escalation) line(script string) string {
	var words string
	switch e.as.Method() {
	case transport.MethodCommand:
		return "exec " + quoteWords(append(append([]string{}, e.as.Command...), e.as.User, "sh", "-c", script))
	case transport.MethodSu:
		words = `-s /bin/sh -c ` + Quote(script) + ` ` + Quote(e.as.User) + ` sh`
	case transport.MethodDoas:
		words = `-u ` + Quote(e.as.User) + ` sh -c ` + Quote(script) + ` sh`
		if !e.tty {
			words = `-n ` + words // doas reads a password from a terminal only
		}
	default:
		words = `-H -u ` + Quote(e.as.User) + ` -p ` + Quote(e.prompt()) + ` sh -c ` + Quote(script) + ` sh`
		if e.silent {
			words = `-n ` + words
		}
		words = `-S ` + words
	}
	line := `LC_ALL=C exec ` + Quote(e.program()) + ` ` + words + ` "${LC_ALL+=}${LC_ALL-}"`
	if e.asksInWords() {
		line = taken(e.token) + `; ` + line
	}
	return line
}

// prompt is what makes sudo print the token and promptMark. sudo prints "%%" as
// "%" (sudo(8), -p), so the mark is never in the line itself: a shell that
// shows its lines (set -x, an error in them) cannot be taken for sudo.
func (e *escalation) prompt() string {
	return strings.ReplaceAll(e.token, "%", "%%") + string(promptMark)
}

// restoreLocale returns the step that restores LC_ALL, which line has set, unless the
// program's own rules have changed it. $1 is "=" and the old value, or empty.
//
// For a run-as-command the step is empty, because line does not change its locale.
func (e *escalation) restoreLocale() []string {
	if e == nil || e.as.Method() == transport.MethodCommand {
		return nil
	}
	return []string{restoreLocale}
}

const restoreLocale = `if [ "${LC_ALL-}" = C ]; then case ${1-} in =*) LC_ALL=${1#=};; *) unset LC_ALL;; esac; fi`

// maxSaid bounds what is kept of the text before a script begins.
const maxSaid = 64 << 10

// foreignPrompt is how long a text that looks like a question may stand before
// the script has begun. sudo shows a prompt of its own only where PAM asks for
// something else than the password (a code, another password); nobody would
// ever answer, so it is an error in time.
const foreignPrompt = 10 * time.Second
