package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/transport"
)

// The names of authentication methods (RFC 4252, RFC 4256).
const (
	methodGSSAPI      = "gssapi-with-mic" // RFC 4462
	methodPublicKey   = "publickey"
	methodPassword    = "password"
	methodInteractive = "keyboard-interactive"
)

// maxReconnects is the maximum number of repeated logins after the server has
// refused further keys (MaxAuthTries). Each login continues with the keys that
// were not tried yet.
const maxReconnects = 4

// errMethodsUsedUp ends an authentication: no method is left.
var errMethodsUsedUp = errors.New("no authentication method left")

// errBeginAnew ends an authentication that can continue only over another
// connection.
var errBeginAnew = errors.New("the server's answers no longer match the requests")

// authRecord records the attempts of one Dial, over all its connections.
type authRecord struct {
	mu         sync.Mutex
	used       map[string]bool // IDs of the steps that have begun
	notes      []string        // for the hint
	reconnects int
	more       bool   // the last connection ended before all steps were tried
	wanted     string // an encrypted key file whose key the server would accept
	maybe      string // an encrypted key file that the server might accept
	limit      error  // error caused by a limit of this process; then the attempts mean nothing
	kerberos   string // why the login with a Kerberos ticket failed
}

func newAuthRecord() *authRecord { return &authRecord{used: make(map[string]bool)} }

// note adds a line to the hint, once.
func (r *authRecord) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, line) {
		r.notes = append(r.notes, line)
	}
}

// want records an encrypted key file. Only the first one is kept.
func (r *authRecord) want(path string, accepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if accepted {
		r.wanted = cmp.Or(r.wanted, path)
	} else {
		r.maybe = cmp.Or(r.maybe, path)
	}
}

// ask returns the key file whose passphrase might have helped.
func (r *authRecord) ask() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.wanted, r.maybe)
}

// limited records an error that a limit of this process has caused.
func (r *authRecord) limited(err error) {
	if !readfile.OutOfFiles(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = err
}

// begin marks a step as used. It returns false if the step was used before.
func (r *authRecord) begin(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used[id] {
		return false
	}
	r.used[id] = true
	return true
}

// again reports whether a failed login must be repeated over a new connection.
func (r *authRecord) again(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if transport.ClassOf(err) != transport.ClassAuth || !r.more || r.reconnects == maxReconnects {
		return false
	}
	r.more = false
	r.reconnects++
	return true
}

// An authStep is one authentication attempt: with a key, with the password, or
// by answering questions. New methods are added as new steps.
type authStep struct {
	method string
	id     string // identifies the step over several connections
	auth   ssh.AuthMethod

	// prepare and refused are for a method that needs other machines than the
	// server. prepare returns the auth, or nil if it fails. refused records the
	// known reasons after the server has refused.
	prepare func() ssh.AuthMethod
	refused func() error // if it returns an error, the connection cannot be used any more
}

// An authentication is the authentication on one connection. Only the goroutine
// of the handshake uses it.
type authentication struct {
	e       *endpoint
	record  *authRecord
	steps   []func() []authStep // in order; each is called when first needed
	made    []authStep
	refused func() error    // refused of the previous step
	learned func(id string) // called with the ID of the key that worked
	signed  string          // ID of the key that signed last
	offered []string        // methods that the server offers
	started bool
}

// more adds the next steps. It returns false if there are none.
func (a *authentication) more() bool {
	if len(a.steps) == 0 {
		return false
	}
	next := a.steps[0]
	a.steps = a.steps[1:]
	a.made = append(a.made, next()...)
	return true
}

// authenticate prepares the authentication of one connection.
//
// The order of attempts is: a Kerberos ticket, the destination's own key, agent
// keys that ssh_config names, other agent keys (unless IdentitiesOnly), key
// files, password, keyboard-interactive. Keys that worked before with the same
// settings go first. So a long list costs its round trips only once.
func (v *View) authenticate(ctx context.Context, e *endpoint, limit *timeLimit, record *authRecord) *authentication {
	a := &authentication{e: e, record: record}
	credentials := v.credentials(e)
	a.learned = func(id string) { v.d.files.learn(credentials, id) }
	if e.gssapi {
		a.steps = append(a.steps, func() []authStep { return []authStep{v.kerberosStep(ctx, e, record)} })
	}
	a.steps = append(a.steps, func() []authStep {
		var steps []authStep
		for _, k := range v.candidates(ctx, e, record) {
			steps = append(steps, authStep{method: methodPublicKey, id: k.id, auth: v.withKey(ctx, k, limit, a)})
		}
		v.d.files.order(credentials, steps)
		if e.to.Password.IsSet() {
			steps = append(steps,
				authStep{method: methodPassword, id: methodPassword, auth: ssh.Password(e.to.Password.Reveal())},
				authStep{method: methodInteractive, id: methodInteractive, auth: ssh.KeyboardInteractive(answerWith(e.to.Password, record))})
		}
		return steps
	})
	return a
}

// next returns the next method. The handshake calls it for each attempt after
// the first probe with the method "none".
func (a *authentication) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	a.started = true
	a.offered = c.AllowedMethods
	if a.refused != nil && !slices.Contains(c.PartialSuccessMethods, methodGSSAPI) {
		if err := a.refused(); err != nil && a.left() {
			return nil, err
		}
	}
	a.refused = nil
	for {
		for _, s := range a.made {
			if !slices.Contains(c.AllowedMethods, s.method) || !a.record.begin(s.id) {
				continue
			}
			if s.method == methodPassword {
				a.record.note("the password")
			}
			if s.prepare != nil {
				if s.auth = s.prepare(); s.auth == nil {
					continue
				}
			}
			a.refused = s.refused
			return s.auth, nil
		}
		if !a.more() {
			return nil, errMethodsUsedUp
		}
	}
}

// left reports whether any untried step uses a method that the server offers.
func (a *authentication) left() bool {
	for a.more() {
	}
	a.record.mu.Lock()
	defer a.record.mu.Unlock()
	return slices.ContainsFunc(a.made, func(s authStep) bool {
		return slices.Contains(a.offered, s.method) && !a.record.used[s.id]
	})
}

func (a *authentication) succeeded() {
	if a.signed != "" {
		a.learned(a.signed)
	}
}

// failed returns the error of an authentication that did not succeed.
func (a *authentication) failed(e *endpoint, err error, w *wire) error {
	tooMany := strings.Contains(disconnected(err), "Too many authentication failures")
	a.record.mu.Lock()
	a.record.more = false
	limit := a.record.limit
	a.record.mu.Unlock()
	switch {
	case limit != nil:
		return limitError(e.to.Host, limit)
	case errors.Is(err, errBeginAnew):
		a.record.mu.Lock()
		a.record.more = true
		a.record.mu.Unlock()
	case tooMany:
		more := a.left()
		a.record.mu.Lock()
		a.record.more = more
		a.record.mu.Unlock()
		a.record.note("the server allows few attempts (MaxAuthTries): set private-key to the right key, or set IdentitiesOnly in ssh_config")
	case errors.Is(err, errMethodsUsedUp):
	case hungUp(err), disconnected(err) != "":
		return connectError(transport.ClassConnect, e.to.Host,
			caused{fmt.Sprintf("%s closed the connection during authentication", e.address()), err},
			a.hint())
	default:
		a.record.note("%s", safetext.Message(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "ssh: handshake failed: "), "ssh: ")))
	}
	return &transport.Error{Class: transport.ClassAuth, Code: codeAuth, Err: err, Hint: a.hint(), Ask: a.record.ask(),
		Msg: fmt.Sprintf("Authentication failed for user %s@%s", e.user, e.to.Host)}
}

// hint lists the attempts and what the user can do.
func (a *authentication) hint() string {
	a.record.mu.Lock()
	defer a.record.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "The server accepts: %s.", cmp.Or(safetext.Messages(a.offered), "nothing"))
	if len(a.record.notes) > 0 {
		fmt.Fprintf(&b, " Tried: %s.", strings.Join(a.record.notes, "; "))
	}
	if a.record.kerberos != "" {
		fmt.Fprintf(&b, " Kerberos: %s", a.record.kerberos)
	}
	wants := func(m string) bool { return slices.Contains(a.offered, m) }
	switch {
	case (wants(methodPassword) || wants(methodInteractive)) && !a.e.to.Password.IsSet():
		b.WriteString(" Set private-key or password, or load a key into the agent.")
	case a.e.to.Password.IsSet() && wants(methodPassword):
		b.WriteString(" Check the user name and the password.")
	case wants(methodPublicKey):
		b.WriteString(" Set private-key to a key that the account's authorized_keys holds, or load it into the agent.")
	case wants(methodGSSAPI) && !a.e.gssapi:
		b.WriteString(" To log in with a Kerberos ticket, set gssapi-authentication, or GSSAPIAuthentication in ssh_config.")
	}
	return b.String()
}

// answerWith answers one question for a password, once. It does not answer
// other questions of a server, such as for a new password or a one-time code.
func answerWith(password transport.Secret, record *authRecord) ssh.KeyboardInteractiveChallenge {
	asked := false
	return func(_, _ string, questions []string, echos []bool) ([]string, error) {
		if len(questions) == 0 {
			return nil, nil
		}
		if len(questions) != 1 || echos[0] || asked || !strings.Contains(strings.ToLower(questions[0]), "password") {
			record.note("keyboard-interactive asked %q, which is not answered", safetext.Messages(questions))
			return nil, errors.New("question is not answered")
		}
		asked = true
		return []string{password.Reveal()}, nil
	}
}
