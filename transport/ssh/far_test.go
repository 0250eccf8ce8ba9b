package ssh

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// nasty is text that must not reach a terminal: a title, a colour, reversed
// text, a carriage return, and bytes that are not text. It is also very long.
var nasty = "\x1b]0;owned\x07\x1b[31mred\u202eder\r\x9b\xff" + strings.Repeat("long ", 4000)

// clean fails if text holds control characters for a terminal or is far longer
// than a message.
func clean(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > 8<<10 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			t.Errorf("%s has %q in it: %.300q", what, r, text)
			return
		}
	}
}

// TestRemoteTextIsSanitized checks that text from the peer is sanitized before
// it is part of an error.
func TestRemoteTextIsSanitized(t *testing.T) {
	fails := func(t *testing.T, l *lab, to transport.Dest) {
		t.Helper()
		c, err := l.Dial(t.Context(), to)
		if err == nil {
			c.Close()
			t.Fatal("connected")
		}
		clean(t, "the error", err.Error())
		e := asError(err, "")
		if e.Msg == "" {
			t.Errorf("no message: %v", err)
		}
	}
	t.Run("preamble", func(t *testing.T) {
		to := peerDest(sshtest.Shedder(t, nasty[:300]+"\n"))
		to.ConnectTimeout = time.Second
		fails(t, newLab(t, nil), to)
	})
	t.Run("disconnect", func(t *testing.T) {
		p := sshtest.Listen(t, func(c net.Conn) {
			body := ssh.Marshal(&struct {
				Reason         uint32 `sshtype:"1"`
				Text, Language string
			}{2, nasty, ""})
			pad := 8 + (8-(len(body)+5+8)%8)%8
			packet := append(ssh.Marshal(&struct {
				Length uint32
				Pad    byte
			}{uint32(1 + len(body) + pad), byte(pad)}), body...)
			c.Write(append([]byte("SSH-2.0-x\r\n"), append(packet, make([]byte, pad)...)...))
			buf := make([]byte, 1<<10)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		})
		fails(t, newLab(t, nil), peerDest(p))
	})
	t.Run("questions", func(t *testing.T) {
		f := sshtest.NewFleet(t, 1, nil, func(c *ssh.ServerConfig) {
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				_, err := ask(nasty, nasty, []string{nasty}, []bool{true})
				return nil, errors.Join(err, errors.New("no"))
			}
			c.PublicKeyCallback = nil
		})
		host, port, _ := net.SplitHostPort(f.Addrs[0])
		n, _ := strconv.Atoi(port)
		to := transport.Dest{Protocol: "ssh", Host: host, Port: n, User: "root", Password: transport.NewSecret("pw"), ConnectTimeout: 10 * time.Second, HostKeyCheck: transport.CheckNone}
		fails(t, newLab(t, nil), to)
	})
	t.Run("comment of an agent's key", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		socket, client := startAgent(t)
		if err := client.Add(agent.AddedKey{PrivateKey: sshtest.NewKey(t, "ed25519"), Comment: nasty}); err != nil {
			t.Fatal(err)
		}
		to := dest(s)
		to.PrivateKey = ""
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		fails(t, l, to)
	})
	t.Run("principals of a certificate", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{HostKeys: []string{"ed25519"}})
		ca := s.Dir + "/ca"
		authority := sshtest.WriteKey(t, ca, "ed25519")
		sshKeygen(t, "-q", "-s", ca, "-I", "host", "-h", "-n", strings.Repeat(strings.Repeat("elsewhere", 10)+",", 200)+"x", s.Dir+"/host_ed25519.pub")
		certified := sshtest.Start(t, sshtest.Options{Config: "HostKey " + s.Dir + "/host_ed25519\nHostCertificate " + s.Dir + "/host_ed25519-cert.pub\n", HostKeys: []string{}})
		l := newLab(t, nil)
		l.record(t, "@cert-authority * "+string(ssh.MarshalAuthorizedKey(authority.PublicKey())))
		fails(t, l, dest(certified))
	})
	t.Run("proxy command", func(t *testing.T) {
		l := newLab(t, nil)
		l.configure(t, "ProxyCommand printf '\\033]0;owned\\007\\033[31m' >&2; exit 1\n")
		fails(t, l, transport.Dest{Protocol: "ssh", Host: "web1", User: "root", ConnectTimeout: 5 * time.Second, LoadConfig: true})
	})
	t.Run("authentication methods", func(t *testing.T) {
		a := &authentication{e: &endpoint{}, record: newAuthRecord()}
		if _, err := a.next(&ssh.ClientAuthContext{AllowedMethods: []string{"publickey", nasty}}); err == nil {
			t.Error("a method is left")
		}
		clean(t, "the hint", a.hint())
		wantText(t, "hint", a.hint(), "publickey")
	})
}
