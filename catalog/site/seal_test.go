package site_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/seal"
	"bolt/catalog/site"
	"bolt/format/fault"
)

// vault encrypts as a vault with random keys does: equal texts result in different
// values.
func vault() seal.Vault {
	n := 0
	return seal.Vault{
		Encrypt: func(_ context.Context, text string) (string, error) {
			n++
			return fmt.Sprintf("ENC[TEST,%d,%s]", n, base64.StdEncoding.EncodeToString([]byte(text))), nil
		},
		Decrypt: func(_ context.Context, value string) (string, error) {
			parts := strings.Split(strings.TrimSuffix(value, "]"), ",")
			text, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
			return string(text), err
		},
	}
}

const withSecrets = `{"name":"n1","resources":[
{"type":"File","title":"/a","parameters":{"content":"HIDDEN","mode":"0600","owner":"ENC[TEST,9,bm90IG91cnM=]"},"sensitive_parameters":["content"]},
{"type":"Exec","title":"b","parameters":{"environment":["A=1",{"__ptype":"Sensitive","__pvalue":"HIDDEN"}]}},
{"type":"User","title":"c","parameters":{"password":"ENC[PKCS7,of somebody else]"},"sensitive_parameters":["password"]},
{"type":"Notify","title":"d"}]}`

// TestSecretsInFiles checks that the secrets of a catalog in a file are encrypted,
// and are decrypted when it is read.
func TestSecretsInFiles(t *testing.T) {
	c, err := catalog.Parse([]byte(withSecrets))
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(t.TempDir(), "before"), filepath.Join(t.TempDir(), "after")}
	random := vault()
	for _, dir := range dirs {
		file, err := site.Write(t.Context(), dir, &site.Compiled{Node: "n1", Catalog: c}, random)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "HIDDEN") || !strings.Contains(string(text), `"mode":"0600"`) {
			t.Errorf("the file has %s, %v", text, err)
		}
	}
	if c.Find(catalog.Ref{Type: "File", Title: "/a"}).Params.Value("content") != "HIDDEN" {
		t.Error("the catalog was changed")
	}
	compare := func(v seal.Vault) int {
		t.Helper()
		var sides [2]*site.Side
		for i, dir := range dirs {
			if sides[i], err = site.ReadSide(dir, v); err != nil {
				t.Fatal(err)
			}
		}
		d, err := site.Compare(t.Context(), sides[0], sides[1])
		if err != nil {
			t.Fatal(err)
		}
		return len(d.Changes["n1"])
	}
	if n := compare(vault()); n != 0 {
		t.Errorf("%d resources differ, although their secrets are equal", n)
	}
	// Without the key, secrets cannot be compared.
	if n := compare(seal.Vault{}); n != 3 {
		t.Errorf("%d resources differ without the key, want 3", n)
	}
	back, err := site.ReadOne(t.Context(), dirs[0], vault())
	if err != nil {
		t.Fatal(err)
	}
	for ref, param := range map[catalog.Ref]string{{Type: "File", Title: "/a"}: "content", {Type: "Exec", Title: "b"}: "environment", {Type: "User", Title: "c"}: "password"} {
		if got, want := back.Find(ref).Params.Value(param), c.Find(ref).Params.Value(param); !catalog.EqualValues(got, want) {
			t.Errorf("%s of %s is %v, want %v", param, ref, got, want)
		}
		if !back.Find(ref).Secret(param) {
			t.Errorf("%s of %s is not secret any more", param, ref)
		}
	}
}

// TestNoKeys checks that without keys, a catalog with secrets is not written.
func TestNoKeys(t *testing.T) {
	c, err := catalog.Parse([]byte(withSecrets))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	none := seal.Vault{Encrypt: func(context.Context, string) (string, error) { return "", errors.New("there is no key") }}
	_, err = site.Write(t.Context(), dir, &site.Compiled{Node: "n1", Catalog: c}, none)
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(f.Msg, "The catalog of n1 has secrets, which cannot be encrypted: there is no key") || !strings.Contains(f.Hint, "bolt secret createkeys") {
		t.Errorf("error is %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("the directory has %v, %v", list, err)
	}
}
