package secret_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/format/fault"
	"bolt/secret"
)

// bits keeps the tests fast.
const bits = 1024

func newPair(t testing.TB) secret.Pair {
	t.Helper()
	dir := t.TempDir()
	p := secret.Pair{Public: filepath.Join(dir, "keys/pub.pem"), Private: filepath.Join(dir, "keys/priv.pem")}
	if err := p.Create(t.Context(), bits, false); err != nil {
		t.Fatal(err)
	}
	return p
}

var texts = []string{"", "x", "fifteen bytes..", "sixteen bytes...", "seventeen bytes..", "two\nlines\n", "ümläut", "\x00\xff\xfe", strings.Repeat("long ", 5000)}

func TestRoundTrip(t *testing.T) {
	p := newPair(t)
	for _, text := range texts {
		value, err := p.Encrypt(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(value, "ENC[PKCS7,") || !strings.HasSuffix(value, "]") || strings.ContainsAny(value, " \n") {
			t.Errorf("the value is %.60q", value)
		}
		again, err := p.Encrypt(t.Context(), []byte(text))
		if err != nil || again == value {
			t.Errorf("the same text gives the same value, %v", err)
		}
		for _, form := range []string{value, " " + value + "\n", value[:40] + "\n  " + value[40:], strings.ReplaceAll(value, "=", "")} {
			if got, err := p.Decrypt(t.Context(), form); err != nil || string(got) != text {
				t.Errorf("Decrypt(%.60q) = %.40q, %v", form, got, err)
			}
		}
	}
}

// TestOpenSSL: OpenSSL's cms command reads what we write, and the other way
// round.
func TestOpenSSL(t *testing.T) {
	p := newPair(t)
	for _, text := range texts {
		if got := command(t, sealed(t, p, text), "openssl", "cms", "-decrypt", "-binary", "-inform", "DER", "-recip", p.Public, "-inkey", p.Private); got != text {
			t.Errorf("openssl read %.40q, want %.40q", got, text)
		}
		der := command(t, []byte(text), "openssl", "cms", "-encrypt", "-binary", "-aes-256-cbc", "-outform", "DER", p.Public)
		opened(t, p, []byte(der), text)
	}
	about := command(t, nil, "openssl", "x509", "-noout", "-text", "-in", p.Public)
	for _, part := range []string{"Version: 3", "Serial Number: 1 ", "sha512WithRSAEncryption", "(1024 bit)"} {
		if !strings.Contains(about, part) {
			t.Errorf("the certificate has no %q:\n%s", part, about)
		}
	}
	if got := command(t, nil, "openssl", "verify", "-CAfile", p.Public, p.Public); !strings.HasSuffix(got, ": OK\n") {
		t.Errorf("openssl verify: %s", got)
	}
}

// The calls of hiera-eyaml and of Puppet Bolt's plugin.
const (
	rubyDecrypt = `require "openssl"
cert = OpenSSL::X509::Certificate.new(File.read(ARGV[0])); key = OpenSSL::PKey::RSA.new(File.read(ARGV[1]))
$stdin.binmode; $stdout.binmode
$stdout.write OpenSSL::PKCS7.new($stdin.read).decrypt(key, cert)`
	rubyEncrypt = `require "openssl"
cert = OpenSSL::X509::Certificate.new(File.read(ARGV[0]))
$stdin.binmode; $stdout.binmode
$stdout.write OpenSSL::PKCS7.encrypt([cert], $stdin.read, OpenSSL::Cipher.new("aes-256-cbc"), OpenSSL::PKCS7::BINARY).to_der`
	rubyCreate = `require "openssl"
key = OpenSSL::PKey::RSA.new(2048); cert = OpenSSL::X509::Certificate.new
cert.subject = OpenSSL::X509::Name.parse("/"); cert.serial = 1; cert.version = 2
cert.not_before = Time.now; cert.not_after = Time.now + 50 * 365 * 24 * 3600
cert.public_key = key.public_key; cert.sign(key, OpenSSL::Digest.new("SHA512"))
File.write(ARGV[0], cert.to_pem); File.write(ARGV[1], key.to_pem)`
)

func TestRuby(t *testing.T) {
	p := newPair(t)
	dir := t.TempDir()
	theirs := secret.Pair{Public: filepath.Join(dir, "pub.pem"), Private: filepath.Join(dir, "priv.pem")}
	command(t, nil, "ruby", "-e", rubyCreate, theirs.Public, theirs.Private)
	for _, p := range []secret.Pair{p, theirs} {
		for _, text := range texts[1:4] {
			if got := command(t, sealed(t, p, text), "ruby", "-e", rubyDecrypt, p.Public, p.Private); got != text {
				t.Errorf("ruby read %.40q, want %.40q", got, text)
			}
			opened(t, p, []byte(command(t, []byte(text), "ruby", "-e", rubyEncrypt, p.Public)), text)
		}
	}
}

// sealed is a value's message.
func sealed(t *testing.T, p secret.Pair, text string) []byte {
	t.Helper()
	value, err := p.Encrypt(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	der, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(value, "ENC[PKCS7,"), "]"))
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// opened checks that we read a message.
func opened(t *testing.T, p secret.Pair, der []byte, text string) {
	t.Helper()
	got, err := p.Decrypt(t.Context(), "ENC[PKCS7,"+base64.StdEncoding.EncodeToString(der)+"]")
	if err != nil || string(got) != text {
		t.Errorf("got %.40q, %v, want %.40q", got, err, text)
	}
}

func command(t *testing.T, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.Bytes())
	}
	return string(out)
}

func TestDecryptErrors(t *testing.T) {
	p, other := newPair(t), newPair(t)
	value, err := p.Encrypt(t.Context(), []byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(p.Public)
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("-----BEGIN RSA PRIVATE KEY-----\nsesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for _, c := range []struct {
		name       string
		pair       secret.Pair
		value      string
		kind, says string
	}{
		{"plain text", p, "sesame", secret.KindParse, "must have the form ENC[PKCS7,"},
		{"nothing inside", p, "ENC[PKCS7,]", secret.KindParse, "must have the form"},
		{"not base64", p, "ENC[PKCS7,sesame!]", secret.KindParse, "must have the form"},
		{"other scheme", p, strings.Replace(value, "PKCS7", "GPG", 1), secret.KindParse, "must have the form"},
		{"no message", p, "ENC[PKCS7,AAAA]", secret.KindParse, "not a PKCS7 message"},
		{"damaged", p, value[:150] + strings.ToUpper(value[150:200]) + value[200:], secret.KindParse, "damaged"},
		{"cut", p, value[:200] + "]", secret.KindParse, "could not be decrypted"},
		{"of another pair", other, value, secret.KindParse, "keys are wrong"},
		{"no public key", secret.Pair{Public: none, Private: p.Private}, value, secret.KindKey, "none' does not exist. A value can only be decrypted with the key pair"},
		{"no private key", secret.Pair{Public: p.Public, Private: none}, value, secret.KindKey, "none' does not exist. A value can only be decrypted with the key pair"},
		{"halves of two pairs", secret.Pair{Public: p.Public, Private: other.Private}, value, secret.KindKey, "does not belong to the private key"},
		{"junk", secret.Pair{Public: p.Public, Private: junk}, value, secret.KindKey, "does not have a PRIVATE KEY"},
		{"a directory", secret.Pair{Public: dir, Private: p.Private}, value, secret.KindKey, "is unreadable"},
	} {
		text, err := c.pair.Decrypt(t.Context(), c.value)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != c.kind || !strings.Contains(f.Msg, c.says) {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: the message has the value: %v", c.name, err)
		}
	}
}

func TestEncryptErrors(t *testing.T) {
	p := newPair(t)
	for _, c := range []struct{ name, path, says string }{
		{"missing", p.Public + "x", "x' does not exist. 'bolt secret createkeys' makes"},
		{"the private key", p.Private, "not a certificate"},
	} {
		if _, err := (secret.Pair{Public: c.path}).Encrypt(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := (secret.Pair{Public: p.Public}).Encrypt(t.Context(), nil); err != nil {
		t.Errorf("encrypting needs the private key: %v", err)
	}
}

func TestCreate(t *testing.T) {
	p := newPair(t)
	mode := func(path string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	mode(filepath.Dir(p.Private), 0o700)
	mode(p.Private, 0o600)
	before := read(t, p)
	err := p.Create(t.Context(), bits, false)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != secret.KindKey || !strings.Contains(f.Msg, p.Public) || !strings.Contains(f.Msg, "force") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(read(t, p), before) {
		t.Error("the pair was changed")
	}
	if err := os.Chmod(p.Private, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), bits, true); err != nil {
		t.Fatal(err)
	}
	mode(p.Private, 0o600)
	if after := read(t, p); after[0] == before[0] || after[1] == before[1] {
		t.Error("not both files are new")
	}
	// Half a pair is one, too.
	if err := os.Remove(p.Public); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), bits, false); err == nil {
		t.Error("a private key without its public one was overwritten")
	}
	for _, bits := range []int{0, -1, 512, 1 << 20} {
		if err := p.Create(t.Context(), bits, true); err == nil || !strings.Contains(err.Error(), "key size") {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	if err := (secret.Pair{Public: p.Private, Private: p.Private}).Create(t.Context(), bits, true); err == nil {
		t.Error("both keys went into one file")
	}
}

func read(t *testing.T, p secret.Pair) []string {
	t.Helper()
	var got []string
	for _, path := range []string{p.Public, p.Private} {
		data, err := os.ReadFile(path)
		if err != nil {
			data = []byte("error: " + err.Error())
		}
		got = append(got, string(data))
	}
	return got
}

// TestCreateFails: what fails in the middle leaves everything as it was.
func TestCreateFails(t *testing.T) {
	p := newPair(t)
	before := read(t, p)
	// A directory is in the place of a file.
	for _, c := range []struct {
		name string
		pair secret.Pair
	}{
		{"public", secret.Pair{Public: filepath.Join(t.TempDir(), "d", "pub.pem"), Private: p.Private}},
		{"private", secret.Pair{Public: p.Public, Private: filepath.Join(t.TempDir(), "d", "priv.pem")}},
	} {
		obstacle := c.pair.Public
		if obstacle == p.Public {
			obstacle = c.pair.Private
		}
		if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := c.pair.Create(t.Context(), bits, true); err == nil || !strings.Contains(err.Error(), obstacle) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Equal(read(t, p), before) {
			t.Errorf("%s: the pair was changed", c.name)
		}
	}
	// The name is free, but leaves no room for that of a temporary file.
	long := strings.Repeat("k", 250)
	noPublic := secret.Pair{Public: filepath.Join(t.TempDir(), long), Private: p.Private}
	if err := noPublic.Create(t.Context(), bits, true); err == nil || !strings.Contains(err.Error(), "name too long") {
		t.Errorf("no public key: %v", err)
	}
	noPrivate := secret.Pair{Public: p.Public, Private: filepath.Join(t.TempDir(), long)}
	if err := noPrivate.Create(t.Context(), bits, true); err == nil || !strings.Contains(err.Error(), "name too long") {
		t.Errorf("no private key: %v", err)
	}
	if !slices.Equal(read(t, p), before) {
		t.Error("the pair was changed")
	}
	dir := t.TempDir()
	fresh := secret.Pair{Public: filepath.Join(dir, long), Private: filepath.Join(dir, "priv.pem")}
	if err := fresh.Create(t.Context(), bits, false); err == nil {
		t.Error("no error")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("half a pair is left: %v, %v", files, err)
	}
}

// TestCreateAtOnce: of several that make a pair one succeeds, and its halves
// belong together.
func TestCreateAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := secret.Pair{Public: filepath.Join(dir, "keys/pub.pem"), Private: filepath.Join(dir, "keys/priv.pem")}
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		all.Go(func() { errs[i] = p.Create(t.Context(), bits, i == 0) })
	}
	all.Wait()
	made := 0
	for i, err := range errs {
		if err == nil {
			made++
		} else if i == 0 {
			t.Errorf("with force: %v", err)
		}
	}
	if made < 1 || made > 2 {
		t.Errorf("%d made a pair", made)
	}
	value, err := p.Encrypt(t.Context(), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := p.Decrypt(t.Context(), value); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	if files, err := os.ReadDir(filepath.Dir(p.Public)); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

func FuzzDecrypt(f *testing.F) {
	p := newPair(f)
	for _, text := range texts[:4] {
		value, err := p.Encrypt(f.Context(), []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
		f.Add(value[:len(value)/2] + "]")
	}
	f.Add("ENC[PKCS7,MAAwAA==]")
	f.Add("ENC[PKCS7, ]")
	f.Fuzz(func(t *testing.T, value string) {
		_, err := p.Decrypt(t.Context(), value)
		if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Kind != secret.KindParse) {
			t.Errorf("%q: %v", value, err)
		}
	})
}
