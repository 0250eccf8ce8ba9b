package shell

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"bolt/transport"
)

// An escalation is the way in which a script runs as another user.
type escalation struct {
	as    transport.RunAs
	token string
	user  string // the login user, for messages
	host  string
	// silent makes sudo fail instead of asking for a password, so that data
	// after the script can never be taken for an answer.
	silent bool
	tty    bool // sudo can ask on a terminal
}

// Unasked records the users for which sudo asked for no password the last time,
// on one machine for one login. The zero value holds no users.
type Unasked struct {
	mu  sync.Mutex
	all map[string]bool
}

// maxUnasked limits the number of recorded users.
const maxUnasked = 64

func (u *Unasked) has(e *escalation) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[e.key()]
}

// learn records whether sudo has asked for a password.
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

// escalate returns nil if as is the login user.
func escalate(as transport.RunAs, token string, o *Options) *escalation {
	if as.User == "" || as.User == o.User {
		return nil
	}
	return &escalation{as: as, token: token, user: o.User, host: o.Host}
}

// program returns the program that switches the user.
func (e *escalation) program() string {
	if e.as.Method() == transport.MethodCommand {
		return e.as.Command[0]
	}
	return cmp.Or(e.as.Executable, "sudo")
}

func (e *escalation) sudo() bool { return e != nil && e.as.Method() == transport.MethodSudo }

// line returns the line that runs a script as the other user. It contains exec,
// because not all shells replace themselves by their last command; otherwise
// the shell would report a signal that ends the command. sudo, su and doas get
// an English locale, because bolt recognizes their errors by the text. script
// must begin with restoreLocale, which restores the locale of the login.
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

// prompt returns the prompt that makes sudo print the token and promptMark.
// sudo prints "%%" as "%" (sudo(8), -p), so the line itself never contains the
// mark. A shell that prints its lines (set -x, a syntax error) cannot be taken
// for sudo.
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

// maxSaid limits the stored text before a script begins.
const maxSaid = 64 << 10

// foreignPrompt is the time for which a text like a question may stay
// unanswered before the script has begun. sudo prints another prompt only if
// PAM asks for something other than the password (a code, another password).
// Nobody would answer it, so it becomes an error.
const foreignPrompt = 10 * time.Second
