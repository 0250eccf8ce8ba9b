package signature

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const namespace = "bolt-release"

var message = []byte("a document\n")

// keygen runs the real ssh-keygen.
func keygen(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
	cmd.Stdin = strings.NewReader(string(stdin))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func makeKey(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if out, err := keygen(t, nil, append([]string{"-q", "-f", file, "-C", name, "-N", ""}, args...)...); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	return file
}

func publicKey(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file + ".pub")
	must(t, err)
	return strings.TrimSpace(string(text))
}

func signers(t *testing.T, dir string, lines ...string) (string, *Signers) {
	t.Helper()
	file := filepath.Join(dir, "allowed")
	must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s, err := ReadSigners(t.Context(), file)
	must(t, err)
	return file, s
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestKeygen signs here and verifies with ssh-keygen, and the other way round, with each type of key.
func TestKeygen(t *testing.T) {
	for name, args := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "rsa": {"-t", "rsa", "-b", "2048"}, "ecdsa": {"-t", "ecdsa", "-b", "384"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			key := makeKey(t, dir, "key", args...)
			file, s := signers(t, dir, "# comment", "", "ada@example.com "+publicKey(t, key))

			ours, err := (&Key{File: key}).Sign(t.Context(), message, namespace)
			must(t, err)
			sig := write(t, dir, "sig", ours)
			if out, err := keygen(t, message, "-Y", "verify", "-f", file, "-I", "ada@example.com", "-n", namespace, "-s", sig); err != nil {
				t.Errorf("ssh-keygen refuses our signature: %v: %s", err, out)
			}
			document := write(t, dir, "document", string(message))
			if out, err := keygen(t, nil, "-Y", "sign", "-f", key, "-n", namespace, document); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			theirs, err := os.ReadFile(document + ".sig")
			must(t, err)
			for name, sig := range map[string]string{"ours": ours, "theirs": string(theirs)} {
				if who, err := s.Verify(sig, message, namespace, time.Now()); err != nil || who != "ada@example.com" {
					t.Errorf("%s: %q, %v", name, who, err)
				}
				if _, err := s.Verify(sig, []byte("another"), namespace, time.Now()); err == nil {
					t.Errorf("%s: another document", name)
				}
				if _, err := s.Verify(sig, message, "file", time.Now()); err == nil {
					t.Errorf("%s: another namespace", name)
				}
			}
		})
	}
}

func TestEncryptedKey(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if out, err := keygen(t, nil, "-q", "-t", "ed25519", "-f", file, "-N", "open sesame"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, s := signers(t, dir, "ada "+publicKey(t, file))
	key := &Key{File: file, Passphrase: func(context.Context, string) (string, error) { return "open sesame", nil }}
	sig, err := key.Sign(t.Context(), message, namespace)
	must(t, err)
	if _, err := s.Verify(sig, message, namespace, time.Now()); err != nil {
		t.Error(err)
	}
	key.Passphrase = func(context.Context, string) (string, error) { return "wrong", nil }
	if _, err := key.Sign(t.Context(), message, namespace); err == nil || !strings.Contains(err.Error(), "could not be decrypted") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if _, err := (&Key{File: file}).Sign(t.Context(), message, namespace); err == nil {
		t.Error("without a passphrase")
	}
}

// TestAgent signs with a key of the real ssh-agent.
func TestAgent(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "agent")
	cmd := exec.CommandContext(t.Context(), "ssh-agent", "-D", "-a", socket)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	key := makeKey(t, dir, "key", "-t", "ed25519")
	rsa := makeKey(t, dir, "rsa", "-t", "rsa", "-b", "2048")
	for { // the socket is there before the agent listens
		conn, err := net.Dial("unix", socket)
		if err == nil {
			must(t, conn.Close())
			break
		}
		time.Sleep(time.Millisecond)
	}
	add := exec.CommandContext(t.Context(), "ssh-add", "-q", key, rsa)
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, s := signers(t, dir, "ada "+publicKey(t, key), "ben "+publicKey(t, rsa))
	for file, want := range map[string]string{key: "ada", rsa: "ben"} {
		must(t, os.Remove(file))
		sig, err := (&Key{File: file + ".pub", Agent: socket}).Sign(t.Context(), message, namespace)
		must(t, err)
		if who, err := s.Verify(sig, message, namespace, time.Now()); err != nil || who != want {
			t.Errorf("%q, %v", who, err)
		}
	}
	other := makeKey(t, dir, "other", "-t", "ed25519")
	if _, err := (&Key{File: other + ".pub", Agent: socket}).Sign(t.Context(), message, namespace); err == nil || !strings.Contains(err.Error(), "does not have") {
		t.Errorf("a key that the agent does not have: %v", err)
	}
	if _, err := (&Key{File: other + ".pub"}).Sign(t.Context(), message, namespace); err == nil {
		t.Error("without an agent")
	}
}

// TestSigners compares the decisions for lines of an allowed signers file with ssh-keygen.
func TestSigners(t *testing.T) {
	dir := t.TempDir()
	key := makeKey(t, dir, "key", "-t", "ed25519")
	other := makeKey(t, dir, "other", "-t", "ed25519")
	public := publicKey(t, key)
	sig, err := (&Key{File: key}).Sign(t.Context(), message, namespace)
	must(t, err)
	sigFile := write(t, dir, "sig", sig)
	day := func(n int) string { return time.Now().AddDate(0, 0, n).Format("20060102") }
	for name, c := range map[string]struct {
		line string
		ok   bool
	}{
		"plain":               {"ada " + public, true},
		"quoted principals":   {`"ada" ` + public, true},
		"several principals":  {"ben,ada " + public, true},
		"pattern":             {"a* " + public, true},
		"other key":           {"ada " + publicKey(t, other), false},
		"namespace":           {`ada namespaces="bolt-release" ` + public, true},
		"namespaces":          {`ada namespaces="git,bolt-*" ` + public, true},
		"namespaces excluded": {`ada namespaces="*,!bolt-release" ` + public, false},
		"other namespace":     {`ada namespaces="git" ` + public, false},
		"upper case":          {`ada NAMESPACES="git" ` + public, false},
		"valid":               {fmt.Sprintf(`ada valid-after="%s",valid-before="%s" %s`, day(-2), day(2), public), true},
		"valid with times":    {fmt.Sprintf(`ada valid-after="%s1200",valid-before="%s120000Z" %s`, day(-2), day(2), public), true},
		"not yet":             {fmt.Sprintf(`ada valid-after="%s" %s`, day(2), public), false},
		"not any more":        {fmt.Sprintf(`ada valid-before="%s" %s`, day(-2), public), false},
		"authority":           {"ada cert-authority " + public, false},
		"second line":         {"ben " + publicKey(t, other) + "\nada " + public, true},
		"second line allows":  {`ada namespaces="git" ` + public + "\nada " + public, true},
		"tabs":                {"ada\tnamespaces=\"bolt-release\"\t" + public, true},
	} {
		t.Run(name, func(t *testing.T) {
			file, s := signers(t, t.TempDir(), c.line)
			who, err := s.Verify(sig, message, namespace, time.Now())
			if (err == nil) != c.ok {
				t.Errorf("%q, %v", who, err)
			}
			out, err := keygen(t, message, "-Y", "verify", "-f", file, "-I", "ada", "-n", namespace, "-s", sigFile)
			if (err == nil) != c.ok {
				t.Errorf("ssh-keygen: %v: %s", err, out)
			}
		})
	}
}

func TestBadSigners(t *testing.T) {
	dir := t.TempDir()
	public := publicKey(t, makeKey(t, dir, "key", "-t", "ed25519"))
	for name, line := range map[string]string{
		"no key":          "ada",
		"no principals":   public,
		"unknown option":  "ada new-option " + public,
		"no quotes":       "ada namespaces=git " + public,
		"open quote":      `ada namespaces="git ` + public,
		"twice":           `ada namespaces="a",namespaces="b" ` + public,
		"no time":         `ada valid-after="tomorrow" ` + public,
		"bad date":        `ada valid-after="20261399" ` + public,
		"never valid":     `ada valid-after="20270101",valid-before="20260101" ` + public,
		"other type":      "ada ssh-rsa " + strings.Fields(public)[1],
		"damaged key":     "ada ssh-ed25519 " + strings.Fields(public)[1][:40],
		"empty namespace": `ada namespaces="" ` + public,
	} {
		file := write(t, dir, "allowed", "# comment\n"+line+"\n")
		if _, err := ReadSigners(t.Context(), file); err == nil || !strings.HasPrefix(err.Error(), file+":2: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCertificates signs with a certificate of an authority.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	ca := makeKey(t, dir, "ca", "-t", "ed25519")
	for name, c := range map[string]struct {
		principals, validity, line string
		ok                         bool
	}{
		"good":             {"ada", "-1d:+1d", "ada cert-authority ", true},
		"pattern":          {"ada,eve", "-1d:+1d", "a*,b* cert-authority ", true},
		"other principal":  {"eve", "-1d:+1d", "ada cert-authority ", false},
		"expired":          {"ada", "-2d:-1d", "ada cert-authority ", false},
		"not an authority": {"ada", "-1d:+1d", "ada ", false},
		"namespace":        {"ada", "-1d:+1d", `ada cert-authority,namespaces="git" `, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			key := makeKey(t, dir, "key", "-t", "ed25519")
			if out, err := keygen(t, nil, "-q", "-s", ca, "-I", "id", "-n", c.principals, "-V", c.validity, key+".pub"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			document := write(t, dir, "document", string(message))
			if out, err := keygen(t, nil, "-Y", "sign", "-f", key+"-cert.pub", "-n", namespace, document); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			sig, err := os.ReadFile(document + ".sig")
			must(t, err)
			file, s := signers(t, dir, c.line+publicKey(t, ca))
			who, err := s.Verify(string(sig), message, namespace, time.Now())
			if (err == nil) != c.ok || c.ok && who != "ada" {
				t.Errorf("%q, %v", who, err)
			}
			out, err := keygen(t, message, "-Y", "verify", "-f", file, "-I", "ada", "-n", namespace, "-s", document+".sig")
			if (err == nil) != c.ok {
				t.Errorf("ssh-keygen: %v: %s", err, out)
			}
		})
	}
}

func TestBadSignature(t *testing.T) {
	dir := t.TempDir()
	key := makeKey(t, dir, "key", "-t", "ed25519")
	_, s := signers(t, dir, "ada "+publicKey(t, key))
	sig, err := (&Key{File: key}).Sign(t.Context(), message, namespace)
	must(t, err)
	for _, bad := range []string{"", "x", sig[:len(sig)/2], strings.Replace(sig, "SSH SIGNATURE", "PUBLIC KEY", 2)} {
		if _, err := s.Verify(bad, message, namespace, time.Now()); err == nil {
			t.Errorf("%q is a signature", bad)
		}
		if _, err := Check(bad, message, namespace); err == nil {
			t.Errorf("%q has a fingerprint", bad)
		}
	}
	if got, err := Check(sig, message, namespace); err != nil || !strings.HasPrefix(got, "SHA256:") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := (&Key{File: write(t, dir, "text", "no key")}).Sign(t.Context(), message, namespace); err == nil {
		t.Error("a text is a key")
	}
}

// FuzzSigners reads any text as an allowed signers file, and any text as a signature.
func FuzzSigners(f *testing.F) {
	f.Add(`"ada" namespaces="a,b",valid-after="20260101" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGBz`, "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n")
	f.Add("ada cert-authority,", "")
	f.Fuzz(func(t *testing.T, line, sig string) {
		s := &Signers{}
		if a, err := parseLine(line); err == nil {
			s.list = append(s.list, a)
		}
		if who, err := s.Verify(sig, message, namespace, time.Now()); err == nil {
			t.Errorf("%q has signed", who)
		}
	})
}
