package shell

import (
	"bytes"
	"fmt"

	"bolt/internal/lazyregexp"
	"bolt/transport"
)

// refusedSilence matches the error of sudo -n when sudo needs a password.
var refusedSilence = lazyregexp.New(`(?m)^sudo: .*\b(?:password|authentication) is required`)

// The refusals of sudo 1.8 and 1.9 (plugins/sudoers), of su (util-linux, shadow,
// busybox) and of doas (OpenBSD, OpenDoas).
var (
	sudoPassword = lazyregexp.New(`(?m)^(?:Sorry, try again\.|sudo: \d+ incorrect password attempts?)`)
	sudoUser     = lazyregexp.New(`(?m)^(?:\S+ is not in the sudoers file|Sorry, user \S+ (?:is not allowed to execute|may not run sudo))`)
	sudoTTY      = lazyregexp.New(`(?m)^(?:sudo: )?sorry, you must have a tty to run sudo`)
	suPassword   = lazyregexp.New(`(?m)^su: (?:Authentication failure|incorrect password)`)
	suUser       = lazyregexp.New(`(?m)^su: (?:Permission denied|must be suid)`)
	suTTY        = lazyregexp.New(`(?m)^su: must be run from a terminal`)
	doasPassword = lazyregexp.New(`(?m)^doas: Auth(?:entication|orization) failed`)
	doasUser     = lazyregexp.New(`(?m)^doas: (?:Operation not permitted|not installed setuid)`)
	doasTTY      = lazyregexp.New(`(?m)^doas: (?:Auth(?:entication|orization) required|a tty is required)`)
)

// refusal recognises an error of sudo, su or doas in the output if the script
// never began. It returns nil for other output, which is then the command's
// output, as with Bolt.
func (e *escalation) refusal(said []byte) *transport.Error {
	method := e.as.Method()
	tty, user, password := sudoTTY, sudoUser, sudoPassword
	switch method {
	case transport.MethodCommand:
		return nil
	case transport.MethodSu:
		tty, user, password = suTTY, suUser, suPassword
	case transport.MethodDoas:
		tty, user, password = doasTTY, doasUser, doasPassword
	}
	switch {
	case tty().Match(said) && method == transport.MethodDoas:
		return e.error("NO_PASSWORD", fmt.Sprintf("doas on %s needs the password of user %s, but reads it from a terminal only", e.host, e.user),
			"Set tty to true for the target, or add nopass to the rule in its doas.conf.")
	case tty().Match(said):
		return e.error("SUDO_DENIED", fmt.Sprintf("%s on %s runs only from a terminal", method, e.host), e.ttyHint())
	case user().Match(said):
		return e.error("SUDO_DENIED", fmt.Sprintf("User %s does not have %s permission on %s", e.user, method, e.host), "")
	case password().Match(said):
		return e.badPassword()
	}
	return nil
}

func (e *escalation) ttyHint() string {
	hint := "Set tty to true for the target"
	if e.sudo() {
		hint += ", or remove requiretty from its sudoers file"
	}
	return hint + "."
}

func (e *escalation) badPassword() *transport.Error {
	return e.error("BAD_PASSWORD", e.passwordOf()+fmt.Sprintf(" not recognized on %s", e.host), "")
}

func (e *escalation) noPassword() *transport.Error {
	hint := ""
	if !e.sudo() {
		hint = "Set sudo-password for the target, or use --sudo-password-prompt."
	}
	return e.error("NO_PASSWORD", e.passwordOf()+fmt.Sprintf(" was not provided for %s", e.host), hint)
}

// passwordOf names the password that the program prompts for.
func (e *escalation) passwordOf() string {
	switch e.as.Method() {
	case transport.MethodSu:
		return "Password of user " + e.as.User + " for su"
	case transport.MethodDoas:
		return "Doas password for user " + e.user
	}
	return "Sudo password for user " + e.user
}

// foreign returns the error for a prompt that is not the password prompt.
func (e *escalation) foreign(said []byte) *transport.Error {
	question := said[bytes.LastIndexByte(said, '\n')+1:]
	hint := ""
	if e.sudo() {
		hint = "If this is a prompt for the password, add \"Defaults passprompt_override\" to the target's sudoers file."
	}
	return e.error("", fmt.Sprintf("run-as on %s stopped at the prompt %q, which is not the password prompt of %s", e.host, FirstLines(string(question)), e.as.Method()), hint)
}

// asksInWords reports whether the program prints its own prompt, which bolt must
// recognise by its text. For sudo, bolt sets the prompt.
func (e *escalation) asksInWords() bool {
	return e != nil && (e.as.Method() == transport.MethodSu || e.as.Method() == transport.MethodDoas)
}

// wordPrompt matches the prompt of su or doas, or of PAM, at the end of the output.
var wordPrompt = lazyregexp.New(`(?:^|[\r\n])((?:doas \([^()\s]*\) |\S+'s )?[Pp]assword(?: for \S+)?: ?)$`)

// maxPrompt is more than a prompt with the names of a user and a machine has.
const maxPrompt = 1 << 10

// promptIn returns the position of the prompt at the end of said, or -1. Only
// the text after the mark is output of the program. The function searches only
// the end of said, because it is called for each piece of a target's output.
func promptIn(said []byte) int {
	skipped := max(0, len(said)-maxPrompt)
	end := said[skipped:]
	m := wordPrompt().FindSubmatchIndex(end)
	switch {
	case m == nil || m[0] == m[2] && skipped > 0: // the line began earlier
		return -1
	case m[0] < m[2] && end[m[0]] == '\r': // the prompt of doas begins with it
		return skipped + m[0]
	}
	return skipped + m[2]
}

// asks reports whether the end of said looks like a prompt.
func asks(said []byte) bool {
	said = bytes.TrimRight(said, " ")
	return len(said) > 0 && (said[len(said)-1] == ':' || said[len(said)-1] == '?')
}

func (e *escalation) error(code, msg, hint string) *transport.Error {
	return &transport.Error{Class: transport.ClassRunAs, Code: code, Msg: msg, Hint: hint}
}
