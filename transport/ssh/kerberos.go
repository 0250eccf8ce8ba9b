package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport"
	"bolt/transport/krb5"
)

// ticketPatience is the maximum time of the KDCs for one login. It is limited
// to half of the connect timeout, so that another method can still be tried.
const ticketPatience = 10 * time.Second

// kerberosStep returns the step that logs in with the caller's Kerberos ticket
// (RFC 4462). If a requirement on this side is missing, that is known before
// the method is sent to the server. So it does not use up an attempt
// (MaxAuthTries).
func (v *View) kerberosStep(ctx context.Context, e *endpoint, record *authRecord) authStep {
	var c *krb5.Context
	tell := func(format string, args ...any) {
		record.mu.Lock()
		defer record.mu.Unlock()
		record.kerberos = fmt.Sprintf(format, args...)
	}
	return authStep{method: methodGSSAPI, id: methodGSSAPI,
		prepare: func() ssh.AuthMethod {
			patience := ticketPatience
			if e.timeout > 0 {
				patience = min(patience, e.timeout/2)
			}
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			var err error
			if c, err = v.kerberos().Context(ctx, e.host, e.delegate); err != nil {
				record.limited(err)
				tell("%s", kerberosAdvice(err))
				return nil
			}
			return ssh.GSSAPIWithMICAuthMethod(c, e.host)
		},
		refused: func() error {
			switch c.State() {
			case krb5.Unused:
				tell("%s offers Kerberos but cannot use it: it has no readable keytab or no realm. Put a key of %s into its /etc/krb5.keytab.",
					e.to.Host, c.Server())
			case krb5.Offered:
				// RFC 4462 3.8 allows a server to send an error token (65)
				// before it refuses. x/crypto takes that message for an error
				// text (64), and then reads the refusal as the answer to the
				// next request.
				tell("%s does not accept the ticket for %s. Check that its clock agrees with the clock of this machine, and that its keytab has the current key of that name (klist -k).",
					e.to.Host, c.Server())
				return errBeginAnew
			case krb5.Complete:
				tell("%s does not let %s in as %s. Add the principal to the ~/.k5login of %[3]s on that machine, or log in as the principal's own user.", e.to.Host, c.Client(), e.user)
			}
			return nil
		},
	}
}

// kerberosAdvice returns the message and hint of an error as sentences.
func kerberosAdvice(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "No KDC answered in time. Check the network and the kdc lines in krb5.conf."
	}
	t, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return safetext.Message(err.Error()) + "."
	}
	return strings.TrimSpace(safetext.Message(t.Msg) + ". " + t.Hint)
}
