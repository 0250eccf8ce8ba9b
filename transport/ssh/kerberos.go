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

// ticketPatience is how long the KDCs may take for one login. It is no more
// than half of the time to connect: another method may still do.
const ticketPatience = 10 * time.Second

// kerberosStep logs in with the caller's Kerberos ticket (RFC 4462). What can
// be missing on our side is known before the server hears of the method, and
// so counts no try (MaxAuthTries).
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
				tell("%s offers Kerberos and cannot do it: it has no keytab that it can read, or knows no realm. Put a key of %s into its /etc/krb5.keytab.",
					e.to.Host, c.Server())
			case krb5.Offered:
				// RFC 4462 3.8 lets a server send its error's token (65) before it
				// refuses. x/crypto takes that for an error's text (64) and leaves
				// the refusal to be read as the answer to the next request.
				tell("%s does not accept the ticket for %s. Compare its clock with that of this machine, and see (klist -k) that its keytab has the present key of that name.",
					e.to.Host, c.Server())
				return errBeginAnew
			case krb5.Complete:
				tell("%s does not let %s in as %s. Add the principal to %[3]s's ~/.k5login there, or log in as its own user.", e.to.Host, c.Client(), e.user)
			}
			return nil
		},
	}
}

// kerberosAdvice is an error as sentences.
func kerberosAdvice(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "No KDC has answered in time. Check the network, and the kdc lines in krb5.conf."
	}
	t, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return safetext.Message(err.Error()) + "."
	}
	return strings.TrimSpace(safetext.Message(t.Msg) + ". " + t.Hint)
}
