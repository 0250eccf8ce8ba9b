package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoing starts a server that sends back its input.
func echoing(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// TestLink checks that bytes sent during silence arrive after it, that a
// cut is an immediate error, and that the end of a link leaves no
// connection.
func TestLink(t *testing.T) {
	l, err := newLink(echoing(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	c, err := net.Dial("tcp4", l.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func(line string, within time.Duration) (string, error) {
		if _, err := io.WriteString(c, line); err != nil {
			return "", err
		}
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		return r.ReadString('\n')
	}
	if got, err := ask("one\n", 10*time.Second); got != "one\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	l.silence(true)
	if got, err := ask("two\n", 50*time.Millisecond); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v in silence", got, err)
	}
	l.silence(false)
	if got, err := ask("three\n", 10*time.Second); got != "two\n" {
		t.Fatalf("got %q, %v after silence", got, err)
	}
	l.cut()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the cut was not noticed: %q, %v", rest, err)
	}
}

// TestParse checks that results are only valid with an end event and
// without other text.
func TestParse(t *testing.T) {
	one := `{"event":"result","target":"a","class":"ok","result":{"value":{"stdout":"x"}}}` + "\n"
	for name, test := range map[string]struct {
		text    string
		results int
		ended   bool
	}{
		"whole":   {`{"event":"begin"}` + "\n" + one + one + `{"event":"end"}` + "\n", 2, true},
		"no end":  {one, 1, false},
		"rubbish": {one + "panic: it broke\n" + `{"event":"end"}` + "\n", 1, false},
		"nothing": {"", 0, false},
	} {
		results, ended := parse([]byte(test.text))
		if len(results) != test.results || ended != test.ended {
			t.Errorf("%s: %d results, ended %v", name, len(results), ended)
		}
		if len(results) > 0 && (results[0].Target != "a" || results[0].Class != "ok" || results[0].Result.Value.Stdout != "x") {
			t.Errorf("%s: %+v", name, results[0])
		}
	}
}

// TestJudge checks that each kind of error is a violation.
func TestJudge(t *testing.T) {
	ok := func(target, stdout string) result {
		r := result{Target: target, Class: "ok"}
		r.Result.Value.Stdout = stdout
		return r
	}
	failed := func(class string) result { return result{Target: "a", Class: class} }
	wanted := job{kind: "x", class: "ok", stdout: "out"}
	for name, test := range map[string]struct {
		job     job
		strict  bool
		results []result
		success bool
		want    int
	}{
		"right":              {wanted, true, []result{ok("a", "out")}, true, 0},
		"wrong output":       {wanted, false, []result{ok("a", "o")}, true, 1},
		"missing":            {wanted, false, nil, true, 1},
		"twice":              {wanted, false, []result{ok("a", "out"), ok("a", "out")}, true, 1},
		"wrong exit status":  {wanted, false, []result{ok("a", "out")}, false, 1},
		"lost when wild":     {wanted, false, []result{failed("lost")}, false, 0},
		"lost when quiet":    {wanted, true, []result{failed("lost")}, false, 1},
		"auth when wild":     {wanted, false, []result{failed("auth")}, false, 1},
		"failed as it shall": {job{kind: "x", class: "failed"}, true, []result{failed("failed")}, false, 0},
		"ok, shall fail":     {job{kind: "x", class: "failed"}, false, []result{ok("a", "")}, true, 1},
		"check":              {job{kind: "x", class: "ok", check: func(string) error { return io.EOF }}, false, []result{ok("a", "")}, true, 1},
	} {
		l := newLog(io.Discard)
		c := &crew{s: &session{log: l}, strict: test.strict}
		c.judge(test.job, name, []string{"a"}, test.results, test.success)
		if got := l.violations(); got != test.want {
			t.Errorf("%s: %d violations, want %d", name, got, test.want)
		}
	}
}
