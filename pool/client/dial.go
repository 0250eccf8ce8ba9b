package client

import (
	"context"
	"errors"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
)

const (
	// maxSessions is how many daemons may end while one dial, or one command
	// that has not begun, waits.
	maxSessions = 3
	// maxAsks is how often the passphrase of a key file is asked for.
	maxAsks = 3
)

// Dial makes the daemon open a connection or use one that it has. The Conn is a
// transport.Archiver, too.
func (c *Client) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	s, id, err := c.lease(ctx, &to)
	if err != nil {
		return nil, err
	}
	return &Conn{client: c, to: to, s: s, id: id}, nil
}

// lease dials until it has a lease, the daemon refuses, or ctx ends. The error
// is a *transport.Error.
func (c *Client) lease(ctx context.Context, to *transport.Dest) (*session, uint32, error) {
	if ctx.Err() != nil {
		return nil, 0, notDialed(ctx, to.Host)
	}
	body := wire.EncodeDest(to)
	if len(body) > wire.MaxFrame {
		return nil, 0, tooLarge("destination", to.Host)
	}
	for ended := 0; ; {
		s, err := c.session(ctx)
		if err != nil {
			return nil, 0, unreached(ctx, to.Host, err)
		}
		known := c.answers.tell(s)
		r, err := s.begin(wire.Dial)
		if err == nil {
			err = s.send(wire.Dial, r.id, body)
		}
		if err == nil {
			err = r.await(ctx)
		}
		if err != nil && ctx.Err() != nil {
			if r != nil {
				r.abandon()
				s.sendLater(wire.Release, r.id, nil)
			}
			return nil, 0, notDialed(ctx, to.Host)
		}
		var a *answer
		if err == nil {
			_, a = r.next()
			err = a.lost
		}
		switch {
		case err != nil: // nothing has begun
			if ended++; ended == maxSessions {
				return nil, 0, unreached(ctx, to.Host, err)
			}
		case a.err == nil:
			return s, r.id, nil
		case a.err.Ask == "" || c.o.Passphrase == nil:
			return nil, 0, failed(ctx, a.err)
		default:
			if err := c.answers.ask(ctx, a.err.Ask, known, c.o.Passphrase); err != nil {
				if ctx.Err() != nil {
					return nil, 0, notDialed(ctx, to.Host)
				}
				return nil, 0, failed(ctx, a.err)
			}
		}
	}
}

// await waits for the answer of a request without output.
func (r *request) await(ctx context.Context) error {
	for !r.answered() {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *request) answered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer != nil
}

// errUnanswered means that no (other) passphrase is available.
var errUnanswered = errors.New("no passphrase was given")

// answers are the passphrases that Options.Passphrase has returned. They are
// sent to this daemon and to later ones.
type answers struct {
	asking flights[string, struct{}]

	mu       sync.Mutex
	list     []wire.AnswerRequest
	asked    map[string]int // how often, by path
	declined map[string]bool
}

// tell sends a session the answers that were not sent yet, and returns the
// number of answers.
func (a *answers) tell(s *session) int {
	a.mu.Lock()
	list := a.list
	a.mu.Unlock()
	if len(list) == 0 {
		return 0
	}
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	for ; s.told.n < len(list); s.told.n++ {
		s.tell(wire.Answer, 0, list[s.told.n].Encode())
	}
	return len(list)
}

// ask returns when there is an answer for path after the first known ones,
// which were wrong.
func (a *answers) ask(ctx context.Context, path string, known int, passphrase func(context.Context, string) (transport.Secret, error)) error {
	_, err := a.asking.do(ctx, path, func() (struct{}, error) {
		if ok, err := a.mayAsk(path, known); ok || err != nil {
			return struct{}{}, err
		}
		secret, err := passphrase(ctx, path)
		if err == nil && !secret.IsSet() {
			err = errUnanswered
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case err == nil:
			a.list = append(a.list, wire.AnswerRequest{Path: path, Passphrase: secret})
		case ctx.Err() == nil:
			a.declined[path] = true
		}
		return struct{}{}, err
	})
	return err
}

// mayAsk reports whether there is a newer answer already. It returns an error
// if there will be none. Otherwise the caller may ask.
func (a *answers) mayAsk(path string, known int) (have bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.list[known:] {
		if r.Path == path {
			return true, nil
		}
	}
	if a.declined[path] || a.asked[path] == maxAsks {
		return false, errUnanswered
	}
	if a.asked == nil {
		a.asked, a.declined = make(map[string]int), make(map[string]bool)
	}
	a.asked[path]++
	return false, nil
}
