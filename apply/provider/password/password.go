// Package password applies resources of the type password: a random password that is made once, on the host, and that
// other resources receive. A refresh makes another password. The type stands for the kind password of mgmt.
//
// A password that is saved is in clear text in a file of the helper's state directory, which only the user of the helper
// can read. If the password is not saved, the file is empty: the run that makes the password sends it, and later runs do
// not. Messages never have the password, and a parameter that receives it is Sensitive.
package password

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
)

// Type returns the type password.
func Type() resource.Type { return passwordType{} }

type passwordType struct{}

// The bounds of the parameter length.
const (
	without = 64
	longest = 65535
)

// alphabet are the characters of passwords. All of them can be in a shell word, a URL and a configuration file.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

type item struct {
	r        *resource.Resource
	length   int
	saved    bool
	recovers bool

	made     bool   // Read: the file exists, and its content is right
	password string // "" if it is not known
}

func (passwordType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	p := &item{r: r, saved: f.Bool("saved", false), recovers: f.Bool("check_recovery", false)}
	n, err := r.Int("length", without)
	if f.Err == nil {
		f.Err = err
	}
	if n < 1 || n > longest {
		f.Refuse("length", fmt.Sprintf("must be from 1 to %d", longest))
	}
	p.length = int(n)
	return p, f.Err
}

// file returns the file of the password. Titles can have all characters, so its name is a digest.
func (p *item) file(h *resource.Host) (string, error) {
	if h.State == "" {
		return "", errors.New("this host has no state directory for passwords")
	}
	sum := sha256.Sum256([]byte(p.r.Title))
	return filepath.Join(h.State, "password-"+hex.EncodeToString(sum[:])), nil
}

// Watch returns the file of the password.
func (p *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	name, err := p.file(h)
	if err != nil {
		return nil // Read fails
	}
	return []resource.Watch{{Path: name}}
}

// Read looks for the file of the password.
func (p *item) Read(_ context.Context, h *resource.Host) error {
	name, err := p.file(h)
	if err != nil {
		return err
	}
	text, err := read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	switch problem := p.check(text); {
	case !p.saved:
		p.made = text == "" // a saved password is replaced if saved is now false
	case text == "": // made, and not saved
	case problem == "":
		p.made, p.password = true, text
	case p.recovers:
		h.Logf(p.r.Ref, report.Warning, "the saved password %s, so bolt makes another password", problem)
	default:
		return fmt.Errorf("the saved password %s. Set check_recovery to true to make another password", problem)
	}
	return nil
}

// read returns the content of the file of a password without the end of its line.
func read(name string) (string, error) {
	f, err := ownfile.OpenOwn(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longest+2))
	return strings.TrimSuffix(string(b), "\n"), err
}

// check returns the problem of a saved password; "" if there is none.
func (p *item) check(text string) string {
	switch {
	case len(text) != p.length:
		return fmt.Sprintf("has another length than %d", p.length)
	case strings.Trim(text, alphabet) != "":
		return "has a character that passwords cannot have"
	}
	return ""
}

func (p *item) Plan() ([]resource.Change, error) {
	if p.made {
		return nil, nil
	}
	return []resource.Change{{Property: "password", Name: "password_made", Is: "absent", Should: "present", Message: "a password was made"}}, nil
}

// Do makes the password.
func (p *item) Do(_ context.Context, h *resource.Host, _ *resource.Change) error { return p.make(h) }

// Refresh makes another password, unless it was just made.
func (p *item) Refresh(_ context.Context, h *resource.Host, made []resource.Change) error {
	if len(made) > 0 {
		return nil
	}
	return p.make(h)
}

func (p *item) make(h *resource.Host) error {
	name, err := p.file(h)
	if err != nil {
		return err
	}
	text := random(p.length)
	kept := ""
	if p.saved {
		kept = text + "\n"
	}
	if err := atomicfile.WriteOwn(name, []byte(kept), 0o600); err != nil {
		return err
	}
	p.password = text
	return nil
}

// random returns characters of the alphabet, each with the same probability.
func random(length int) string {
	b := make([]byte, length)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		b[i] = alphabet[n.Int64()]
	}
	return string(b)
}

// Sent returns the password, if it is known.
func (p *item) Sent() (values map[string]any, secret bool) {
	if p.password == "" {
		return nil, true
	}
	return map[string]any{"password": p.password}, true
}
