package winrm

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/transport"
	"bolt/transport/winrm/winrmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	user     = "Operator"
	password = "pä$$ wörd"
)

// machine returns the machine for the commands of a test.
func machine(t *testing.T) *winrmtest.Machine {
	return &winrmtest.Machine{Home: t.TempDir(), Temp: t.TempDir(), Programs: map[string]string{}}
}

// server starts a server that accepts our user.
func server(t *testing.T, change func(*winrmtest.Options)) (*winrmtest.Server, transport.Dest) {
	t.Helper()
	o := winrmtest.Options{User: user, Password: password, Machine: machine(t)}
	if change != nil {
		change(&o)
	}
	s := winrmtest.New(t, o)
	to := transport.Dest{Protocol: "winrm", Host: "127.0.0.1", Port: s.Port, User: user, Password: transport.NewSecret(password), ConnectTimeout: 10 * time.Second}
	if o.TLS {
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Cert.Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		to.Options = Access{SSL: true, SSLVerify: true, CACert: file}
	}
	return s, to
}

// access returns a function that changes a destination's Access.
func access(change func(*Access)) func(*transport.Dest) {
	return func(to *transport.Dest) {
		a, _ := to.Options.(Access)
		change(&a)
		to.Options = a
	}
}

// quick returns a Dialer with short waits.
func quick() *Dialer { return &Dialer{poll: 300 * time.Millisecond, end: 5 * time.Second} }

func dial(t *testing.T, to transport.Dest) *Conn {
	t.Helper()
	c, err := quick().Dial(t.Context(), to)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c.(*Conn)
}

func run(t *testing.T, c *Conn, cmd transport.Cmd) (code int, stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errs
	st, err := c.Run(t.Context(), &cmd)
	return st.Code, out.String(), errs.String(), err
}

func expect(t *testing.T, c *Conn, cmd transport.Cmd, code int, stdout, stderr string) {
	t.Helper()
	gotCode, out, errs, err := run(t, c, cmd)
	if err != nil || gotCode != code || out != stdout || errs != stderr {
		t.Errorf("got %d %.300q %.300q %v\nwant %d %.300q %.300q", gotCode, out, errs, err, code, stdout, stderr)
	}
}

func expectError(t *testing.T, err error, class transport.Class, code, text string) {
	t.Helper()
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want a *transport.Error", err, err)
	}
	if e.Class != class || e.Code != code || !strings.Contains(e.Error(), text) {
		t.Errorf("got class %q code %q %q\nwant %q %q %q", e.Class, e.Code, e, class, code, text)
	}
	if strings.Contains(e.Error(), password) {
		t.Errorf("the password is in %q", e)
	}
}

// TestLogins checks that commands run with each authentication method.
func TestLogins(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*winrmtest.Options)
		dest   func(*transport.Dest)
	}{
		{"HTTP, NTLM and encryption", nil, nil},
		{"of a domain", nil, func(to *transport.Dest) { to.User = `FARM\` + user }},
		{"of a domain by its DNS name", nil, func(to *transport.Dest) { to.User = user + "@farm.example" }},
		{"Basic is also offered", func(o *winrmtest.Options) { o.Schemes = []string{"Negotiate", `Basic realm="WSMAN"`} }, nil},
		{"HTTPS, NTLM", func(o *winrmtest.Options) { o.TLS = true }, nil},
		{"HTTPS, only Basic is offered", func(o *winrmtest.Options) { o.TLS, o.Schemes = true, []string{`Basic realm="WSMAN"`} }, nil},
		{"HTTPS, Basic is asked for", func(o *winrmtest.Options) { o.TLS, o.Schemes = true, []string{"Negotiate", `Basic realm="WSMAN"`} },
			access(func(a *Access) { a.BasicOnly = true })},
		{"HTTPS, Basic is asked for, any certificate", func(o *winrmtest.Options) { o.TLS, o.Schemes = true, []string{`Basic realm="WSMAN"`} },
			access(func(a *Access) { a.BasicOnly, a.SSLVerify, a.CACert = true, false, "" })},
		{"HTTPS, any certificate", func(o *winrmtest.Options) { o.TLS = true },
			access(func(a *Access) { a.SSLVerify, a.CACert = false, "" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, to := server(t, c.change)
			if c.dest != nil {
				c.dest(&to)
			}
			conn := dial(t, to)
			expect(t, conn, transport.Cmd{Line: "echo héllo; echo err >&2; exit 3"}, 3, "héllo\n", "err\n")
			expect(t, conn, transport.Cmd{Line: "cat", Stdin: []byte("näher")}, 0, "näher", "")
			if err := conn.Close(); err != nil || s.Shells() != 0 {
				t.Errorf("after Close there are %d shells: %v", s.Shells(), err)
			}
			if n := s.Count("Create"); n != 1 {
				t.Errorf("%d shells were made for commands one after the other", n)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tls := func(o *winrmtest.Options) { o.TLS = true }
	for _, c := range []struct {
		name   string
		change func(*winrmtest.Options)
		dest   func(*transport.Dest)
		class  transport.Class
		code   string
		text   string
	}{
		{"wrong password", nil, func(to *transport.Dest) { to.Password = transport.NewSecret("other") }, transport.ClassAuth, "AUTH_ERROR", "Operator@127.0.0.1"},
		{"wrong user", nil, func(to *transport.Dest) { to.User = "nobody" }, transport.ClassAuth, "AUTH_ERROR", "not accepted"},
		{"wrong password, HTTPS", tls, func(to *transport.Dest) { to.Password = transport.NewSecret("other") }, transport.ClassAuth, "AUTH_ERROR", ""},
		{"wrong password, Basic", func(o *winrmtest.Options) { o.TLS, o.Schemes = true, []string{"Basic"} },
			func(to *transport.Dest) { to.Password = transport.NewSecret("other") }, transport.ClassAuth, "AUTH_ERROR", ""},
		{"no password", nil, func(to *transport.Dest) { to.Password = transport.Secret{} }, transport.ClassAuth, "AUTH_ERROR", "needs a user and a password"},
		{"Basic over HTTP", func(o *winrmtest.Options) { o.Schemes = []string{"Basic"} }, nil, transport.ClassProtocol, "CONNECT_ERROR", "would reveal the password"},
		{"Basic asked for over HTTP", nil, access(func(a *Access) { a.BasicOnly = true }), transport.ClassUnsupported, "AUTH_ERROR", "reveal the password"},
		{"Basic to whoever asks", func(o *winrmtest.Options) { o.TLS, o.Schemes = true, []string{"Basic"} },
			access(func(a *Access) { a.SSLVerify, a.CACert = false, "" }), transport.ClassProtocol, "CONNECT_ERROR", "not verified"},
		{"nothing but Kerberos", func(o *winrmtest.Options) { o.Schemes = []string{"Kerberos"} }, nil, transport.ClassProtocol, "CONNECT_ERROR", "NTLM"},
		{"no encryption", func(o *winrmtest.Options) { o.Flags = winrmtest.AllFlags &^ 0x20 }, nil, transport.ClassProtocol, "CONNECT_ERROR", "strong encryption is not offered"},
		{"weak encryption", func(o *winrmtest.Options) { o.Flags = winrmtest.AllFlags &^ 0x20000000 }, nil, transport.ClassProtocol, "CONNECT_ERROR", "strong encryption is not offered"},
		{"realm", nil, access(func(a *Access) { a.Realm = "EXAMPLE.COM" }), transport.ClassUnsupported, "AUTH_ERROR", "Kerberos"},
		{"unknown authority", tls, access(func(a *Access) { a.CACert = "" }), transport.ClassProtocol, "CONNECT_ERROR", "cacert"},
		{"another name", tls, func(to *transport.Dest) { to.Host = "localhost" }, transport.ClassProtocol, "CONNECT_ERROR", "localhost"},
		{"no such file", tls, access(func(a *Access) { a.CACert = "/nonexistent/ca" }), transport.ClassUnsupported, "CONNECT_ERROR", "/nonexistent/ca"},
		{"a pipe that nobody writes to", tls, func(to *transport.Dest) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			access(func(a *Access) { a.CACert = pipe })(to)
			to.ConnectTimeout = time.Second
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
		}, transport.ClassUnsupported, "CONNECT_ERROR", "cannot be read"},
		{"a file without end", tls, access(func(a *Access) { a.CACert = "/dev/zero" }), transport.ClassUnsupported, "CONNECT_ERROR", "cannot be read"},
		{"no certificates", tls, access(func(a *Access) { a.CACert = "/dev/null" }), transport.ClassUnsupported, "CONNECT_ERROR", "no certificates"},
		{"HTTPS where HTTP is", nil, access(func(a *Access) { a.SSL = true }), transport.ClassProtocol, "CONNECT_ERROR", "may not use HTTPS"},
		{"HTTP where HTTPS is", tls, func(to *transport.Dest) { to.Options = Access{} }, transport.ClassProtocol, "CONNECT_ERROR", ""},
		{"nobody there", nil, func(to *transport.Dest) { to.Port = 1 }, transport.ClassConnect, "CONNECT_ERROR", "refused"},
		{"no such name", nil, func(to *transport.Dest) { to.Host = "host.invalid" }, transport.ClassResolve, "CONNECT_ERROR", "host.invalid"},
		{"another transport", nil, func(to *transport.Dest) { to.Protocol = "ssh" }, transport.ClassUnsupported, "CONNECT_ERROR", "ssh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, to := server(t, c.change)
			if c.dest != nil {
				c.dest(&to)
			}
			conn, err := quick().Dial(t.Context(), to)
			if err == nil {
				conn.Close()
				t.Fatal("it was dialed")
			}
			expectError(t, err, c.class, c.code, c.text)
		})
	}
}

// TestPasswordIsNotSentInClear checks that a password is sent only in the forms of NTLM
// and Basic.
func TestPasswordIsNotSentInClear(t *testing.T) {
	s, to := server(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wire bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
			if err != nil {
				in.Close()
				return
			}
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				wg.Go(func() {
					defer pair[0].Close()
					defer pair[1].Close()
					buf := make([]byte, 32<<10)
					for {
						n, err := pair[0].Read(buf)
						mu.Lock()
						wire.Write(buf[:n])
						mu.Unlock()
						if _, werr := pair[1].Write(buf[:n]); err != nil || werr != nil {
							return
						}
					}
				})
			}
		}
	})
	to.Port = l.Addr().(*net.TCPAddr).Port
	c := dial(t, to)
	expect(t, c, transport.Cmd{Line: "echo very-secret-line; cat", Env: []string{"S=very-secret-value"}, Stdin: []byte("very-secret-input")}, 0, "very-secret-line\nvery-secret-input", "")
	c.Close()
	l.Close()
	wg.Wait()
	for _, text := range []string{"very-secret", "Envelope", "powershell", password} {
		if bytes.Contains(wire.Bytes(), []byte(text)) {
			t.Errorf("%q went over the wire", text)
		}
	}
	if !bytes.Contains(wire.Bytes(), []byte("Encrypted Boundary")) {
		t.Error("nothing was seen")
	}
}

func TestLongOutput(t *testing.T) {
	_, to := server(t, func(o *winrmtest.Options) { o.Piece = 1013 }) // a piece ends within a character
	c := dial(t, to)
	code, out, _, err := run(t, c, transport.Cmd{Line: `i=0; while [ $i -lt 20000 ]; do echo "$i äöü€ and some more"; i=$((i+1)); done`})
	lines := strings.Split(out, "\n")
	if err != nil || code != 0 || len(lines) != 20001 || lines[19999] != "19999 äöü€ and some more" {
		t.Errorf("%d lines, code %d, %v", len(lines), code, err)
	}
}

// TestLongInput checks input that is larger than one message, while the command
// prints output.
func TestLongInput(t *testing.T) {
	s, to := server(t, nil)
	c := dial(t, to)
	data := bytes.Repeat([]byte("0123456789abcde\n"), 80_000)
	_, out, _, err := run(t, c, transport.Cmd{Line: "cat", Stdin: data})
	if err != nil || out != string(data) {
		t.Errorf("%d bytes of %d came back: %v", len(out), len(data), err)
	}
	if n := s.Count("Send"); n < len(data)/sendPiece {
		t.Errorf("%d messages", n)
	}
	// The command does not read its input.
	expect(t, c, transport.Cmd{Line: "echo done", Stdin: data}, 0, "done\n", "")
}

// TestQuietCommand checks a command that prints nothing for longer than the
// server waits.
func TestQuietCommand(t *testing.T) {
	s, to := server(t, nil)
	d := &Dialer{poll: 50 * time.Millisecond, end: 5 * time.Second}
	c, err := d.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	expect(t, c.(*Conn), transport.Cmd{Line: "sleep 1; echo at last"}, 0, "at last\n", "")
	if n := s.Count("Receive"); n < 4 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestOddAnswers checks invalid answers of a hostile or broken server to each
// message.
func TestOddAnswers(t *testing.T) {
	gigabyte := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
		zeros := make([]byte, 1<<20)
		for range 1024 {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	}
	xml := func(status int, text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	sealed := func(text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", sealedType)
			io.WriteString(w, text)
		}
	}
	odd := []struct {
		name   string
		answer func(w http.ResponseWriter)
		text   string
	}{
		{"a fault", xml(500, winrmtest.Fault("w:AccessDenied", "5", "Access is denied.")), "Access is denied. (5)"},
		{"a fault in many words", xml(500, winrmtest.Fault("w:X", "5", strings.Repeat("words ", 1000))), "…"},
		{"500 without a fault", xml(500, ""), "not a SOAP message"},
		{"no XML", xml(200, "<html><body>It works!<br></body>"), "not a SOAP message"},
		{"half of XML", xml(200, "<s:Envelope xmlns:s='x'><s:Body>"), "not a SOAP message"},
		{"another message", xml(200, "<a/>"), ""},
		{"another encoding", xml(200, `<?xml version="1.0" encoding="utf-7"?><a/>`), "not in UTF-8"},
		{"a gigabyte", gigabyte, "more than 2 MiB"},
		{"a redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "does not follow redirects"},
		{"404", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, "404"},
		{"503", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, "503"},
		{"401 for ever", func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, "not accepted"},
		{"half an answer", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<s:Envelope>")
		}, "EOF"},
		{"nothing", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "EOF"},
		{"odd encryption", sealed("--Encrypted Boundary\r\nLength=x--Encrypted Boundary"), "has an invalid format"},
		{"wrong encryption", sealed("--Encrypted Boundary\r\n\tOriginalContent: Length=5\r\n--Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n\x10\x00\x00\x00" + strings.Repeat("s", 16) + "words--Encrypted Boundary--\r\n"), "cannot be trusted"},
	}
	for _, secure := range []bool{true, false} {
		for _, action := range []string{"Create", "Command", "Send", "Receive"} {
			for _, c := range odd {
				if !secure && !strings.Contains(c.name, "encryption") && c.name != "a fault" && action != "Receive" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/secure=%v", action, c.name, secure), func(t *testing.T) {
					text := c.text
					switch {
					case secure && strings.Contains(c.name, "encryption"):
						return // nobody has the keys for it
					case !secure && (strings.HasPrefix(c.name, "a fault") || strings.Contains(text, "SOAP") || text == "not in UTF-8" || text == ""):
						text = "without encryption" // so it is not read at all
					}
					_, to := server(t, func(o *winrmtest.Options) {
						o.TLS = secure
						o.Before = func(a string, _ int, w http.ResponseWriter, _ *http.Request) bool {
							if a == action {
								c.answer(w)
								return true
							}
							return false
						}
					})
					conn, err := quick().Dial(t.Context(), to)
					if action == "Create" {
						if err == nil {
							conn.Close()
							t.Fatal("it was dialed")
						}
					} else {
						if err != nil {
							t.Fatal(err)
						}
						defer conn.Close()
						_, err = conn.Run(t.Context(), &transport.Cmd{Line: "echo hello"})
					}
					e, ok := errors.AsType[*transport.Error](err)
					if !ok || !strings.Contains(e.Error(), text) {
						t.Fatalf("got %v, want %q", err, text)
					}
					if len(e.Error()) > 4000 {
						t.Errorf("%d bytes of an error", len(e.Error()))
					}
				})
			}
		}
	}
}

// TestServerStopsAnswering checks a server that stops answering.
func TestServerStopsAnswering(t *testing.T) {
	for _, action := range []string{"Create", "Receive"} {
		t.Run(action, func(t *testing.T) {
			over := make(chan struct{})
			_, to := server(t, func(o *winrmtest.Options) {
				o.Before = func(a string, _ int, _ http.ResponseWriter, r *http.Request) bool {
					if a == action {
						select {
						case <-over:
						case <-r.Context().Done():
						}
						return true
					}
					return false
				}
			})
			defer close(over)
			if action == "Create" {
				to.ConnectTimeout = 300 * time.Millisecond
			}
			conn, err := quick().Dial(t.Context(), to)
			if action == "Create" {
				expectError(t, err, transport.ClassTimeout, "CONNECT_ERROR", "within 300ms")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.(*Conn).p.slack = 300 * time.Millisecond
			_, err = conn.Run(t.Context(), &transport.Cmd{Line: "echo hello"})
			expectError(t, err, transport.ClassLost, "CONNECT_ERROR", "no longer answers")
		})
	}
}

// TestCancel checks that a cancelled command ends with all its processes.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name  string
		class transport.Class
		limit time.Duration // at first; 0 for none
	}{
		{"cancel", transport.ClassCancelled, 0},
		{"timeout", transport.ClassTimeout, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, to := server(t, nil)
			conn := dial(t, to)
			var pid pidSink
			for limit := c.limit; pid.text == "" && limit < time.Minute; limit *= 4 { // on a busy machine, the command may not begin within the limit
				ctx, cancel := context.WithCancel(t.Context())
				if limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), limit)
				} else {
					pid.got = cancel
				}
				_, err := conn.Run(ctx, &transport.Cmd{Line: "echo $$; sleep 1000 & wait", Stdout: &pid})
				cancel()
				expectError(t, err, c.class, "", "Command on 127.0.0.1")
				if strings.Contains(err.Error(), "may run on") {
					t.Error(err)
				}
				if s.Shells() != 0 {
					t.Errorf("%d shells are left", s.Shells())
				}
			}
			gone(t, strings.TrimSpace(pid.text))
			expect(t, conn, transport.Cmd{Line: "echo next"}, 0, "next\n", "")
		})
	}
}

type pidSink struct {
	text string
	got  func()
}

func (p *pidSink) Write(b []byte) (int, error) {
	p.text += string(b)
	if p.got != nil && strings.Contains(p.text, "\n") {
		p.got()
	}
	return len(b), nil
}

// gone waits for the end of a process.
func gone(t *testing.T, pid string) {
	t.Helper()
	if pid == "" {
		t.Fatal("the command never began")
	}
	end := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %s runs on", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestCannotEnd checks a server that cannot be asked any more to end the
// command.
func TestCannotEnd(t *testing.T) {
	_, to := server(t, func(o *winrmtest.Options) {
		o.Before = func(a string, _ int, w http.ResponseWriter, _ *http.Request) bool {
			if a == "Signal" || a == "Delete" {
				panic(http.ErrAbortHandler)
			}
			return false
		}
	})
	conn := dial(t, to)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := conn.Run(ctx, &transport.Cmd{Line: "echo begun; sleep 1000", Stdout: &pidSink{got: cancel}})
	expectError(t, err, transport.ClassCancelled, "", "may continue to run on the machine for up to 3m0s")
}

func TestSinkFails(t *testing.T) {
	_, to := server(t, nil)
	conn := dial(t, to)
	full := errors.New("sink is full")
	_, _, _, err := run(t, conn, transport.Cmd{Line: "echo a; sleep 1000", Stdout: failing{full}})
	expectError(t, err, transport.ClassCancelled, "", "sink is full")
	expect(t, conn, transport.Cmd{Line: "echo next"}, 0, "next\n", "")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestReconnectsAfterServerForgot checks that an unused connection works again, whatever state
// the server has dropped.
func TestReconnectsAfterServerForgot(t *testing.T) {
	for _, secure := range []bool{false, true} {
		// Each answer is the last one on its connection, which NTLM has
		// authenticated.
		s, to := server(t, func(o *winrmtest.Options) {
			o.TLS = secure
			o.Before = func(_ string, _ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Connection", "close")
				return false
			}
		})
		conn := dial(t, to)
		expect(t, conn, transport.Cmd{Line: "echo one"}, 0, "one\n", "")
		s.Forget()
		expect(t, conn, transport.Cmd{Line: "echo two; cat", Stdin: []byte("in")}, 0, "two\nin", "")
	}
}

func TestManyAtOnce(t *testing.T) {
	s, to := server(t, nil)
	var wg sync.WaitGroup
	for i := range 25 {
		wg.Go(func() {
			conn, err := quick().Dial(t.Context(), to)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			var each sync.WaitGroup
			for j := range 3 {
				each.Go(func() {
					var out bytes.Buffer
					st, err := conn.Run(t.Context(), &transport.Cmd{Line: fmt.Sprintf("echo %d-%d", i, j), Stdout: &out})
					if err != nil || !st.OK() || out.String() != fmt.Sprintf("%d-%d\n", i, j) {
						t.Errorf("got %+v %q %v", st, out.String(), err)
					}
				})
			}
			each.Wait()
		})
	}
	wg.Wait()
	if s.Shells() != 0 {
		t.Errorf("%d shells are left", s.Shells())
	}
}

func TestAfterClose(t *testing.T) {
	_, to := server(t, nil)
	conn := dial(t, to)
	conn.Close()
	_, err := conn.Run(t.Context(), &transport.Cmd{Line: "echo no"})
	expectError(t, err, transport.ClassLost, "CONNECT_ERROR", "closed")
}

// TestCopies copies files to the machine and back.
func TestCopies(t *testing.T) {
	_, to := server(t, nil)
	conn := dial(t, to)
	src := t.TempDir()
	big := bytes.Repeat([]byte{0, 1, 0x1a, 13, 10, 255}, 100_000)
	for name, data := range map[string][]byte{"tree/a b.txt": []byte("ä\n"), "tree/sub/empty": nil, "tree/sub/big": big} {
		path := filepath.Join(src, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	there := t.TempDir()
	put := func(path, dst string) error {
		return conn.Put(t.Context(), transport.Tree{Path: path}, dst, transport.FileOptions{})
	}
	if err := errors.Join(put(src+"/tree", there+"/one"), put(src+"/tree", there+"/one"), put(src+"/tree/sub/big", there+"/one/a b.txt")); err != nil {
		t.Fatal(err)
	}
	same := func(file string, want []byte) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, not %d: %v", file, len(got), len(want), err)
		}
	}
	same(there+"/one/sub/big", big)
	same(there+"/one/tree/sub/empty", nil)
	same(there+"/one/a b.txt", big)
	expectError(t, put(src+"/tree", there+"/one"), transport.ClassFile, "MV_ERROR", "not empty")
	expectError(t, put(src+"/tree", there+"/none/below"), transport.ClassFile, "MV_ERROR", "127.0.0.1")
	expectError(t, put(src+"/nothing", there), transport.ClassFile, "COPY_ERROR", "nothing")

	here := t.TempDir()
	get := func(path string) error { return conn.Get(t.Context(), path, here, transport.FileOptions{}) }
	if err := errors.Join(get(there+"/one"), get(there+"/one/sub/big")); err != nil {
		t.Fatal(err)
	}
	same(here+"/one/sub/big", big)
	same(here+"/one/sub/empty", nil)
	same(here+"/big", big)
	expectError(t, get(there+"/nothing"), transport.ClassFile, "WRITE_ERROR", "file or directory does not exist")
}
