package eyaml

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keys reads the pair under testdata, made by OpenSSL for these tests alone.
func keys(t testing.TB, private string) *Keys {
	t.Helper()
	k, err := Open(t.Context(), map[string]string{
		"pkcs7_public_key":  "testdata/public_key.pkcs7.pem",
		"pkcs7_private_key": filepath.Join("testdata", private),
	}, Source{ReadFile: func(_ context.Context, path string) ([]byte, error) { return os.ReadFile(path) }})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type sample struct{ Plain, Block string }

// samples are texts and what OpenSSL made of them, with the calls of eyaml.
func samples(t testing.TB) []sample {
	t.Helper()
	data, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDecrypt(t *testing.T) {
	for _, file := range []string{"private_key.pkcs7.pem", "private_key.pkcs8.pem"} {
		k := keys(t, file)
		for _, s := range samples(t) {
			got, err := k.Decrypt("ENC[PKCS7," + s.Block + "]")
			if want := chomp(s.Plain); err != nil || got != want {
				t.Errorf("%s: Decrypt = %q, %v, want %q", file, got, err, want)
			}
		}
	}
}

func TestDecryptForms(t *testing.T) {
	k := keys(t, "private_key.pkcs7.pem")
	b := samples(t)[0].Block
	var folded strings.Builder
	for i := 0; i < len(b); i += 60 {
		folded.WriteString(b[i:min(i+60, len(b))] + " ")
	}
	for _, c := range []struct{ name, in, want string }{
		{"no block", "plain", "plain"},
		{"no block keeps its line end", "plain\n", "plain\n"},
		{"default scheme", "ENC[" + b + "]", "secret"},
		{"scheme in lower case", "ENC[pkcs7," + b + "]", "secret"},
		{"among text", "user:ENC[PKCS7," + b + "]@host", "user:secret@host"},
		{"two", "ENC[PKCS7," + b + "] ENC[PKCS7," + b + "]", "secret secret"},
		{"folded", "ENC[PKCS7," + folded.String() + "]", "secret"},
		{"line end after", "ENC[PKCS7," + b + "]\n", "secret"},
		{"over lines is not one", "ENC[PKCS7,\n" + b + "\n]", "ENC[PKCS7,\n" + b + "\n]"},
		{"not base64 is not one", "ENC[PKCS7,!!]\n", "ENC[PKCS7,!!]"},
	} {
		got, err := k.Decrypt(c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestDecryptErrors(t *testing.T) {
	k := keys(t, "private_key.pkcs7.pem")
	b := samples(t)[0].Block
	for _, c := range []struct{ name, in, want string }{
		{"other scheme", "ENC[GPG," + b + "]", "GPG"},
		{"not base64", "ENC[PKCS7,A]", "not base64"},
		{"not a message", "ENC[PKCS7,aGVsbG8=]", "not a PKCS7 message"},
		{"damaged", "ENC[PKCS7," + b[:100] + strings.ToUpper(b[100:140]) + b[140:] + "]", "damaged"},
	} {
		got, err := k.Decrypt(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want an error with %q", c.name, got, err, c.want)
		}
	}
}

func TestOpen(t *testing.T) {
	public, err := os.ReadFile("testdata/public_key.pkcs7.pem")
	if err != nil {
		t.Fatal(err)
	}
	private, err := os.ReadFile("testdata/private_key.pkcs7.pem")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PUB": string(public), "PRIV": string(private)}
	files := map[string]string{defaultPublicKey: string(public), defaultPrivateKey: string(private)}
	from := Source{
		Getenv: func(name string) string { return env[name] },
		ReadFile: func(_ context.Context, path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, errors.New(path + ": no such file")
		},
	}
	for _, c := range []struct {
		name    string
		options map[string]string
		want    string // in the error
	}{
		{"defaults", nil, ""},
		{"variables", map[string]string{"pkcs7_public_key_env_var": "PUB", "pkcs7_private_key_env_var": "PRIV"}, ""},
		{"no variable", map[string]string{"pkcs7_private_key_env_var": "NOPE"}, "NOPE"},
		{"no file", map[string]string{"pkcs7_public_key": "other"}, "other: no such file"},
		{"swapped", map[string]string{"pkcs7_public_key_env_var": "PRIV"}, "CERTIFICATE"},
	} {
		k, err := Open(t.Context(), c.options, from)
		if c.want == "" {
			if err != nil || k == nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	k := keys(f, "private_key.pkcs7.pem")
	for _, s := range samples(f) {
		f.Add("ENC[PKCS7," + s.Block + "]")
	}
	f.Add("ENC[GPG,aa] ENC[aa]")
	f.Add("ENC[PKCS7,MAAwAA==]\n")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := k.Decrypt(s)
		if err == nil && !encrypted(s) && got != s {
			t.Errorf("%q without a block became %q", s, got)
		}
	})
}
