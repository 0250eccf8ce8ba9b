package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"bolt/internal/filestamp"
	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

// startAgent starts a real ssh-agent and returns its socket and a client.
func startAgent(t *testing.T) (string, agent.ExtendedAgent) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent")
	c := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("ssh-agent: %v", err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	// It prints the socket's name when it listens.
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("ssh-agent says nothing: %v", err)
	}
	conn, err := newAgents().connect(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.conn.Close() })
	return socket, conn.client
}

// sshKeygen makes a key. A passphrase gets one round, because the default of 16 to 24 takes seconds with the race detector.
func sshKeygen(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-a", "1"}, args...)
	if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
	}
}

func TestKeyFormats(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	var asked atomic.Int32
	l := newLab(t, func(o *Options) {
		o.Passphrase = func(context.Context, string) (transport.Secret, error) {
			asked.Add(1)
			return transport.NewSecret("open sesame"), nil
		}
	}, s)
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		for _, format := range []string{"RFC4716", "PEM", "PKCS8"} {
			for _, phrase := range []string{"", "open sesame"} {
				if kind == "ed25519" && format != "RFC4716" {
					continue // ssh-keygen writes only its own format
				}
				t.Run(fmt.Sprintf("%s %s %q", kind, format, phrase), func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "key")
					sshKeygen(t, "-q", "-t", kind, "-m", format, "-N", phrase, "-f", file)
					pub, err := readPublicKey(file + ".pub")
					if err != nil {
						t.Fatal(err)
					}
					s.Authorize(t, "", pub)
					if format == "PEM" {
						os.Remove(file + ".pub") // then the key is known only with the passphrase
					}
					asked.Store(0)
					to := dest(s)
					to.PrivateKey = file
					say(t, l.mustDial(t, to), "true")
					want := int32(0)
					if phrase != "" {
						want = 1
					}
					if asked.Load() != want {
						t.Errorf("asked %d times, want %d", asked.Load(), want)
					}
				})
			}
		}
	}
	t.Run("key data", func(t *testing.T) {
		text, err := os.ReadFile(s.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		to := dest(s)
		to.PrivateKey, to.KeyData = "", transport.NewSecret(string(text))
		say(t, l.mustDial(t, to), "true")
	})
}

func TestPassphrase(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	file := filepath.Join(t.TempDir(), "key")
	sshKeygen(t, "-q", "-t", "ed25519", "-N", "right", "-f", file)
	pub, err := readPublicKey(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.Authorize(t, "", pub)
	to := dest(s)
	to.PrivateKey = file

	t.Run("one question for many targets, outside the time to connect", func(t *testing.T) {
		var err error
		for _, limit := range []time.Duration{2 * time.Second, 8 * time.Second, 30 * time.Second} { // on a busy machine, five logins may take longer
			var asked atomic.Int32
			l := newLab(t, func(o *Options) {
				o.Passphrase = func(_ context.Context, path string) (transport.Secret, error) {
					if path != file {
						return transport.Secret{}, fmt.Errorf("asked for %s", path)
					}
					asked.Add(1)
					time.Sleep(limit + limit/4) // a user types
					return transport.NewSecret("right"), nil
				}
			}, s)
			to := to
			to.ConnectTimeout = limit
			errs := make([]error, 5)
			var work sync.WaitGroup
			for i := range errs {
				work.Go(func() {
					c, err := l.Dial(t.Context(), to)
					if err == nil {
						c.Close()
					}
					errs[i] = err
				})
			}
			work.Wait()
			if asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
			if err = errors.Join(errs...); err == nil {
				return
			}
		}
		t.Error(err)
	})
	t.Run("second try", func(t *testing.T) {
		answers := []string{"wrong", "right"}
		l := newLab(t, func(o *Options) {
			o.Passphrase = func(context.Context, string) (transport.Secret, error) {
				a := answers[0]
				answers = answers[1:]
				return transport.NewSecret(a), nil
			}
		}, s)
		say(t, l.mustDial(t, to), "true")
	})
	t.Run("no answer is remembered", func(t *testing.T) {
		asked := 0
		l := newLab(t, func(o *Options) {
			o.Passphrase = func(context.Context, string) (transport.Secret, error) {
				asked++
				return transport.Secret{}, errors.New("nobody there")
			}
		}, s)
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		wantText(t, "hint", e.Hint, "nobody there")
		l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
	t.Run("no user to ask", func(t *testing.T) {
		l := newLab(t, func(o *Options) { o.Passphrase = nil }, s)
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		wantText(t, "hint", e.Hint, file, "encrypted", "agent")
	})
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca")
	sshtest.WriteKey(t, ca, "ed25519")
	s := sshtest.Start(t, sshtest.Options{Config: "TrustedUserCAKeys " + ca + ".pub"})
	for _, kind := range []string{"ed25519", "rsa"} {
		for _, c := range []struct {
			name, validity string
			class          transport.Class
		}{
			{"valid", "-1h:+1h", ""},
			{"expired", "-2h:-1h", transport.ClassAuth},
		} {
			t.Run(kind+" "+c.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "key")
				sshtest.WriteKey(t, file, kind)
				sshKeygen(t, "-q", "-s", ca, "-I", "test", "-n", "root", "-V", c.validity, file+".pub")
				l := newLab(t, nil, s)
				to := dest(s)
				to.PrivateKey = file
				if c.class != "" {
					e := l.refused(t, to, c.class, "AUTH_ERROR")
					wantText(t, "hint", e.Hint, "not valid now")
					return
				}
				say(t, l.mustDial(t, to), "true")
			})
		}
	}
	t.Run("CertificateFile elsewhere", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "key")
		sshtest.WriteKey(t, file, "ed25519")
		sshKeygen(t, "-q", "-s", ca, "-I", "test", "-n", "root", file+".pub")
		cert := filepath.Join(t.TempDir(), "cert.pub")
		if err := os.Rename(file+"-cert.pub", cert); err != nil {
			t.Fatal(err)
		}
		l := newLab(t, nil, s)
		l.configure(t, "IdentityFile "+file+"\nCertificateFile "+cert+"\n")
		to := dest(s)
		to.PrivateKey = ""
		say(t, l.mustDial(t, to), "true")
	})
}

func TestAgent(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	socket, client := startAgent(t)
	for _, kind := range []string{"rsa", "ed25519"} {
		t.Run(kind, func(t *testing.T) {
			key := sshtest.NewKey(t, kind)
			if err := client.RemoveAll(); err != nil {
				t.Fatal(err)
			}
			if err := client.Add(agent.AddedKey{PrivateKey: key, Comment: "mine"}); err != nil {
				t.Fatal(err)
			}
			signer, err := ssh.NewSignerFromSigner(key)
			if err != nil {
				t.Fatal(err)
			}
			s.Authorize(t, "", signer.PublicKey())
			l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
			to := dest(s)
			to.PrivateKey = ""
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() {
					c, err := l.Dial(t.Context(), to)
					if err != nil {
						t.Error(err)
						return
					}
					c.Close()
				})
			}
			work.Wait()
			if n := len(l.agent.open); n != 1 {
				t.Errorf("%d connections to the agent, want 1", n)
			}

			without := to
			without.LoadConfig, without.HostKeyCheck = false, transport.CheckNone
			e := l.refused(t, without, transport.ClassAuth, "AUTH_ERROR")
			if strings.Contains(e.Hint, "mine") {
				t.Errorf("the agent was used without LoadConfig: %s", e.Hint)
			}
		})
	}
	t.Run("started anew", func(t *testing.T) {
		key := sshtest.NewKey(t, "ed25519")
		signer, err := ssh.NewSignerFromSigner(key)
		if err != nil {
			t.Fatal(err)
		}
		s.Authorize(t, "", signer.PublicKey())
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		to := dest(s)
		to.PrivateKey = ""
		l.loginTwice(t, to, client, key)
	})
	t.Run("no agent there", func(t *testing.T) {
		l := newLab(t, func(o *Options) { o.AgentSocket = filepath.Join(t.TempDir(), "none") }, s)
		say(t, l.mustDial(t, dest(s)), "true")
	})
}

// loginTwice logs in with the agent, breaks the Dialer's connection to the
// agent, and logs in again.
func (l *lab) loginTwice(t *testing.T, to transport.Dest, client agent.ExtendedAgent, key any) {
	t.Helper()
	if err := client.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	l.mustDial(t, to)
	for _, c := range l.agent.open {
		c.conn.Close()
		c.listed = time.Time{}
	}
	l.mustDial(t, to)
}

// TestAgentSignsAgain checks that a signature is requested again, once, if the
// agent's connection has ended, and not if the agent refuses.
func TestAgentSignsAgain(t *testing.T) {
	socket, client := startAgent(t)
	key := sshtest.NewKey(t, "ed25519")
	if err := client.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	a := newAgents()
	t.Cleanup(a.close)
	found, err := a.candidates(t.Context(), socket)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d keys, %v", len(found), err)
	}
	sign := func() error {
		_, err := found[0].sign(t.Context(), []byte("data"), ssh.KeyAlgoED25519)
		return err
	}
	connection := func() *agentConn {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.open[agentSocket{socket, filestamp.At(socket)}]
	}
	connection().conn.Close()
	if err := sign(); err != nil {
		t.Errorf("after the connection has ended: %v", err)
	}
	before := connection()
	if err := client.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	if err := sign(); err == nil {
		t.Error("signed with a key that the agent has no more")
	}
	if connection() != before {
		t.Error("a refusal drops the connection")
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	before.conn.Close()
	if err := sign(); err == nil {
		t.Error("signed without an agent")
	}
}

// TestManyKeys checks logins with many keys. A server counts each key that it
// does not accept. Logins go on over new connections, and the key that worked
// is tried first next time.
func TestManyKeys(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "MaxAuthTries 3\n"})
	socket, client := startAgent(t)
	var keys []ssh.Signer
	for i := range 10 {
		key := sshtest.NewKey(t, "ed25519")
		if err := client.Add(agent.AddedKey{PrivateKey: key, Comment: fmt.Sprint("key", i)}); err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewSignerFromSigner(key)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, signer)
	}
	to := dest(s)
	to.PrivateKey = ""
	t.Run("none is right", func(t *testing.T) {
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		e := l.refused(t, to, transport.ClassAuth, "AUTH_ERROR")
		if want := "Authentication failed for user root@127.0.0.1"; e.Msg != want {
			t.Errorf("message %q, want %q", e.Msg, want)
		}
		wantText(t, "hint", e.Hint, "key0", "key9", "MaxAuthTries", "publickey")
	})
	t.Run("own key first", func(t *testing.T) {
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		before := strings.Count(s.Log(), "Connection from")
		l.mustDial(t, dest(s))
		if n := strings.Count(s.Log(), "Connection from") - before; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
	t.Run("last is right", func(t *testing.T) {
		s.Authorize(t, "", keys[9].PublicKey())
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		l.mustDial(t, to)
		before := strings.Count(s.Log(), "Connection from")
		l.mustDial(t, to)
		if n := strings.Count(s.Log(), "Connection from") - before; n != 1 {
			t.Errorf("second login took %d connections, want 1", n)
		}
	})
	t.Run("IdentitiesOnly", func(t *testing.T) {
		pub := filepath.Join(t.TempDir(), "nine")
		if err := os.WriteFile(pub+".pub", ssh.MarshalAuthorizedKey(keys[9].PublicKey()), 0o644); err != nil {
			t.Fatal(err)
		}
		l := newLab(t, func(o *Options) { o.AgentSocket = socket }, s)
		l.configure(t, "IdentitiesOnly yes\nIdentityFile "+pub+"\n")
		before := strings.Count(s.Log(), "Connection from")
		l.mustDial(t, to)
		if n := strings.Count(s.Log(), "Connection from") - before; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestPassword(t *testing.T) {
	t.Parallel()
	account := transporttest.Users(t).Asked
	password := account.Password
	for _, c := range []struct {
		name, config string
		password     string
		class        transport.Class
	}{
		{"password", "PasswordAuthentication yes\n", password, ""},
		{"wrong", "PasswordAuthentication yes\n", "no" + password, transport.ClassAuth},
		{"not given", "PasswordAuthentication yes\n", "", transport.ClassAuth},
		{"keyboard-interactive", "KbdInteractiveAuthentication yes\nUsePAM yes\n", password, ""},
		{"keyboard-interactive, wrong", "KbdInteractiveAuthentication yes\nUsePAM yes\n", "no" + password, transport.ClassAuth},
		{"key, then password", "PasswordAuthentication yes\nAuthenticationMethods publickey,password\n", password, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sshtest.Start(t, sshtest.Options{Config: c.config})
			l := newLab(t, nil, s)
			to := dest(s)
			to.User, to.Password = account.Name, transport.NewSecret(c.password)
			if !strings.Contains(c.name, "key,") {
				to.PrivateKey = ""
			}
			if c.class == "" {
				if got := say(t, l.mustDial(t, to), "id -un"); got != account.Name+"\n" {
					t.Errorf("logged in as %q", got)
				}
				return
			}
			e := l.refused(t, to, c.class, "AUTH_ERROR")
			if want := "Authentication failed for user " + account.Name + "@127.0.0.1"; e.Msg != want {
				t.Errorf("message %q, want %q", e.Msg, want)
			}
			if c.password != "" && strings.Contains(fmt.Sprintf("%v %+v %#v %s", e, e, e, e.Err), c.password) {
				t.Errorf("the password is in the error: %#v", e)
			}
			if c.password == "" {
				wantText(t, "hint", e.Hint, "password")
			}
		})
	}
}

func TestAnswersNothingButThePassword(t *testing.T) {
	secret := transport.NewSecret("pw")
	for _, c := range []struct {
		name      string
		questions []string
		echos     []bool
		want      []string // nil: an error
	}{
		{"password", []string{"Password: "}, []bool{false}, []string{"pw"}},
		{"with a name", []string{"(root@web) PASSWORD:"}, []bool{false}, []string{"pw"}},
		{"shown while typed", []string{"Password: "}, []bool{true}, nil},
		{"another question", []string{"Verification code: "}, []bool{false}, nil},
		{"two questions", []string{"Password: ", "Code: "}, []bool{false, false}, nil},
		{"none", []string{}, []bool{}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := answerWith(secret, newAuthRecord())("", "", c.questions, c.echos)
			if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
				t.Errorf("answers %q, %v; want %q", got, err, c.want)
			}
		})
	}
	t.Run("once", func(t *testing.T) {
		ask := answerWith(secret, newAuthRecord())
		if _, err := ask("", "", []string{"Password: "}, []bool{false}); err != nil {
			t.Fatal(err)
		}
		if got, err := ask("", "", []string{"New password: "}, []bool{false}); err == nil {
			t.Errorf("second question answered with %q", got)
		}
	})
}

// TestUnusableKeyFile checks a key file that is missing, about which the
// inventory warns, and a file without a key, about which this package warns.
func TestUnusableKeyFile(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	for _, c := range []struct{ name, path, warning string }{
		{"missing", "/does/not/exist", ""},
		{"no key in it", writeText(t, "no key\n"), "invalid_ssh_key: Private key file "},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil, s)
			l.configure(t, "IdentityFile "+s.KeyFile+"\n")
			to := dest(s)
			to.PrivateKey = c.path
			for range 2 {
				say(t, l.mustDial(t, to), "true")
			}
			if c.warning == "" {
				if len(l.warnings) > 0 {
					t.Errorf("warnings %q", l.warnings)
				}
			} else if len(l.warnings) != 1 || !strings.HasPrefix(l.warnings[0], c.warning+c.path) {
				t.Errorf("warnings %q, want one %s%s", l.warnings, c.warning, c.path)
			}
		})
	}
}

func TestDefaultKeys(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	signer := sshtest.WriteKey(t, filepath.Join(l.home, ".ssh", "id_ecdsa"), "ecdsa")
	s.Authorize(t, "", signer.PublicKey())
	to := dest(s)
	to.PrivateKey = ""
	say(t, l.mustDial(t, to), "true")
}

// TestKeysAreReadOnce checks that keys are read once, and again after they have
// changed.
func TestKeysAreReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	sshtest.WriteKey(t, file, "ed25519")
	k := newKeyring(newKeyFiles(), nil)
	a, err := k.load(file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := k.load(file); err != nil || a != b {
		t.Errorf("read again: %v", err)
	}
	sshtest.WriteKey(t, file, "rsa")
	if b, err := k.load(file); err != nil || b.public.Type() != "ssh-rsa" {
		t.Errorf("changed file gives %v, %v", b, err)
	}
}

func FuzzParseKey(f *testing.F) {
	dir := f.TempDir()
	for i, args := range [][]string{{"-t", "ed25519", "-N", ""}, {"-t", "ecdsa", "-m", "PKCS8", "-N", "abcde"}, {"-t", "rsa", "-m", "PEM", "-N", "abcde"}} {
		file := filepath.Join(dir, fmt.Sprint(i))
		if out, err := exec.Command("ssh-keygen", append([]string{"-q", "-f", file}, args...)...).CombinedOutput(); err != nil {
			f.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := parseKey(text, "")
		if err == nil && k.signer == nil && len(k.text) < 2000 {
			decryptKey(k.text, []byte("abcde"))
		}
	})
}

// publicOf reads the public key that belongs to a key file.
func publicOf(t *testing.T, file string) ssh.PublicKey {
	t.Helper()
	k, err := readPublicKey(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return k
}
