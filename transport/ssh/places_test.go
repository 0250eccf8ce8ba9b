package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

// together runs commands that end when all of them run, or fail after a
// timeout.
func together(t *testing.T, c *Conn, commands int) (errs []error) {
	t.Helper()
	dir := t.TempDir()
	errs = make([]error, commands)
	var work sync.WaitGroup
	for i := range commands {
		work.Go(func() {
			line := fmt.Sprintf("echo >%s/%d; n=0; while [ $(ls %[1]s | wc -l) -lt %[3]d ]; do sleep 0.02; n=$((n+1)); [ $n -lt 3000 ] || exit 1; done", dir, i, commands)
			st, err := c.Run(t.Context(), &transport.Cmd{Line: line})
			if err == nil && !st.OK() {
				err = fmt.Errorf("ended with %+v", st)
			}
			errs[i] = err
		})
	}
	work.Wait()
	return errs
}

// TestNoRefusalBelowLimit checks that bolt never requests more sessions than a
// known limit, although the server frees a session only a moment after its end.
func TestNoRefusalBelowLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("MaxSessions %d", limit), func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: fmt.Sprintf("MaxSessions %d\n", limit)})
			c := newLab(t, func(o *Options) { o.Keep = true }, s).mustDial(t, dest(s))
			c.places.limit, c.places.taught = limit, true
			for round := range 6 {
				for i, err := range together(t, c, limit) {
					if err != nil {
						t.Errorf("round %d, command %d: %v", round, i, err)
					}
				}
			}
			if got := c.Stats().Sessions; got != limit {
				t.Errorf("the connection tells %d sessions, want %d", got, limit)
			}
		})
	}
}

// TestSpareTeachesAtOnce checks the refusal of a spare session: the limit
// becomes the number of sessions that are open when the refusal arrives, and
// not when the session is needed.
func TestSpareTeachesAtOnce(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxSessions 1\n"})
	c := newLab(t, func(o *Options) { o.Keep = true }, s).mustDial(t, dest(s))
	stop := filepath.Join(t.TempDir(), "stop")
	var work sync.WaitGroup
	work.Go(func() {
		line := fmt.Sprintf("while [ ! -e %s ]; do sleep 0.02; done", stop)
		if st, err := c.Run(t.Context(), &transport.Cmd{Line: line}); err != nil || !st.OK() {
			t.Errorf("%+v, %v", st, err)
		}
	})
	for end := time.Now().Add(20 * time.Second); c.Stats().Sessions != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("the connection tells %d sessions, want 1", c.Stats().Sessions)
			break
		}
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	work.Wait()
}

// TestNoQueue checks that a caller with other connections gets a request back
// if the server has no session for it, and that nothing has run.
func TestNoQueue(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxSessions 1\n"})
	c := newLab(t, func(o *Options) { o.Keep = true }, s).mustDial(t, dest(s))
	c.NoQueue()
	stop := filepath.Join(t.TempDir(), "stop")
	started := make(chan struct{}, 1)
	var work sync.WaitGroup
	work.Go(func() {
		line := fmt.Sprintf("echo up; n=0; while [ ! -e %s ]; do sleep 0.02; n=$((n+1)); [ $n -lt 3000 ] || exit 1; done; exit 7", stop)
		told := writerFunc(func(b []byte) (int, error) { started <- struct{}{}; return len(b), nil })
		st, err := c.Run(t.Context(), &transport.Cmd{Line: line, Stdout: told})
		if err != nil || st.Code != 7 {
			t.Errorf("the first command: %+v, %v", st, err)
		}
	})
	<-started
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := c.Run(t.Context(), &transport.Cmd{Line: "touch " + ran})
	if transport.ClassOf(err) != transport.ClassThrottled || !errors.Is(err, transport.ErrSessionsTaken) {
		t.Errorf("the second command: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the second command has run")
	}
	if got := c.Stats().Sessions; got != 1 {
		t.Errorf("the connection tells %d sessions, want 1", got)
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	for i := range 5 { // commands one after the other are not refused
		if st, err := c.Run(t.Context(), &transport.Cmd{Line: "true"}); err != nil || !st.OK() {
			t.Errorf("command %d afterwards: %+v, %v", i, st, err)
		}
	}
}

// TestGivenUpSessionIsNoRequest checks that a request waits for the place of a
// closed session, even if the caller has other connections. Otherwise the
// request would be returned and come back at once.
func TestGivenUpSessionIsNoRequest(t *testing.T) {
	p := &places{limit: 1, most: 1, taught: true, noQueue: true}
	s := &session{done: make(chan struct{})}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	queued := 0
	take := func() error { return p.take(over, nil, func() { queued++ }) }
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if err := take(); err != errCrowded {
		t.Errorf("beside another request: %v", err)
	}
	p.leave(s)
	if err := take(); err != errNoPlace || queued != 1 {
		t.Errorf("beside a closed session: %v, queued %d times", err, queued)
	}
	close(s.done)
	if p.closed(s); p.working != 0 {
		t.Errorf("%d requests are counted afterwards", p.working)
	}
}

// TestCrowdedWhileWaiting checks requests that wait for the place of a spare session. They end when the server
// refuses that session, or when a request takes it, because only other requests have sessions then.
func TestCrowdedWhileWaiting(t *testing.T) {
	for name, lose := range map[string]func(*places){"refused": (*places).refused, "taken": (*places).claim} {
		p := &places{limit: 10, most: 10, noQueue: true}
		never := func() { t.Errorf("%s: a request waits", name) }
		if err := p.take(t.Context(), nil, never); err != nil || !p.hold() {
			t.Fatalf("%s: no place for a request and a spare session: %v", name, err)
		}
		if err := p.take(t.Context(), nil, never); err != nil {
			t.Fatal(err)
		}
		if _, crowded := p.refusedRequest(); crowded {
			t.Fatalf("%s: the request must not wait for the spare session", name)
		}
		ends := make(chan error, 1)
		if err := p.take(t.Context(), nil, func() { go func() { lose(p); ends <- nil }() }); err != errCrowded {
			t.Errorf("%s: %v, want %v", name, err, errCrowded)
		}
		<-ends
		if p.taken > 2 || len(p.waiting) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestQuestionsAreShared checks sessions that end while a server owes an
// answer: they wait together for one further answer, and none of them for the
// answer to an earlier request.
func TestQuestionsAreShared(t *testing.T) { synctest.Test(t, questionsAreShared) }

func questionsAreShared(t *testing.T) {
	mute := &muteMux{asked: make(chan struct{}, 100), answers: make(chan struct{})}
	c := &Conn{mux: mute, ended: make(chan struct{})}
	defer c.work.finish()
	var first, others sync.WaitGroup
	first.Go(c.awaitAnswer)
	<-mute.asked
	begun := time.Now()
	for range 50 {
		others.Go(c.awaitAnswer)
	}
	synctest.Wait() // until all of them wait
	time.Sleep(answerTakes / 20)
	mute.answers <- struct{}{}
	first.Wait()
	<-mute.asked
	others.Wait()
	if took := time.Since(begun); took < answerTakes {
		t.Errorf("they took the answer to an earlier question, after %v", took)
	}
	if n := len(mute.asked); n > 0 {
		t.Errorf("%d questions more than two", n)
	}
	close(mute.answers)
	begun = time.Now()
	c.awaitAnswer()
	if took := time.Since(begun); took >= answerTakes {
		t.Errorf("an answer took %v", took)
	}
}

// A muteMux answers a global request for each element of answers.
type muteMux struct {
	ssh.Conn
	asked, answers chan struct{}
}

func (m *muteMux) SendRequest(string, bool, []byte) (bool, []byte, error) {
	m.asked <- struct{}{}
	<-m.answers
	return false, nil, nil
}
