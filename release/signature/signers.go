package signature

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/readfile"
	"bolt/transport/ssh/pattern"
)

// Signers are the keys of an allowed signers file.
type Signers struct {
	file string
	list []allowed
}

// allowed is one line: a key with its principals.
type allowed struct {
	principals    string // patterns, separated by commas
	key           ssh.PublicKey
	authority     bool   // the key signs certificates
	namespaces    string // patterns; "" for all
	after, before time.Time
}

// ReadSigners reads an allowed signers file. An error in a line has the number of the line.
func ReadSigners(ctx context.Context, file string) (*Signers, error) {
	text, err := readfile.Read(ctx, file, readfile.Config)
	if err != nil {
		return nil, err
	}
	s := &Signers{file: file}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		a, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		s.list = append(s.list, a)
	}
	return s, nil
}

// parseLine reads: PRINCIPALS [OPTIONS] KEYTYPE KEY [COMMENT]
func parseLine(line string) (a allowed, err error) {
	var rest string
	if a.principals, rest, err = word(line); err != nil || a.principals == "" {
		return a, errors.Join(err, errors.New("a line begins with principals, such as an e-mail address"))
	}
	if a.key, err = parseKey(rest); err == nil {
		return a, nil
	}
	options, rest, err := quotedWord(rest)
	if err != nil {
		return a, err
	}
	if err := a.options(options); err != nil {
		return a, err
	}
	a.key, err = parseKey(rest)
	return a, err
}

// word returns the first word of a line, which can be in double quotes.
func word(line string) (first, rest string, err error) {
	if text, quoted := strings.CutPrefix(line, `"`); quoted {
		first, rest, closed := strings.Cut(text, `"`)
		if !closed {
			return "", "", errors.New("a quote is not closed")
		}
		return first, strings.TrimLeft(rest, " \t"), nil
	}
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, "", nil
	}
	return line[:i], strings.TrimLeft(line[i:], " \t"), nil
}

// quotedWord returns the first word of a line, in which quoted parts can have blanks.
func quotedWord(line string) (first, rest string, err error) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted && i+1 < len(line) && line[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return line[:i], strings.TrimLeft(line[i:], " \t"), nil
		}
	}
	if quoted {
		return "", "", errors.New("a quote is not closed")
	}
	return line, "", nil
}

func parseKey(text string) (ssh.PublicKey, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return nil, errors.New("the line has no key, such as ssh-ed25519 AAAA…")
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, errors.New("the line has no key, such as ssh-ed25519 AAAA…")
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	if key.Type() != fields[0] {
		return nil, fmt.Errorf("the key is of the type %s, but the line has the type %s", key.Type(), fields[0])
	}
	return key, nil
}

// options reads options, separated by commas: cert-authority, namespaces="…",
// valid-after="…", valid-before="…".
func (a *allowed) options(text string) error {
	seen := make(map[string]bool)
	for text != "" {
		end := strings.IndexAny(text, "=,")
		name, value := text, ""
		if end < 0 {
			text = ""
		} else if name = text[:end]; text[end] == ',' {
			text = text[end+1:]
		} else {
			var quoted bool
			if text, quoted = strings.CutPrefix(text[end+1:], `"`); !quoted {
				return fmt.Errorf("the value of the option %q is not in double quotes", name)
			}
			var closed bool
			if value, text, closed = strings.Cut(text, `"`); !closed {
				return errors.New("a quote is not closed")
			}
			if text != "" && text[0] != ',' {
				return fmt.Errorf("a comma must follow the option %q", name)
			}
			text = strings.TrimPrefix(text, ",")
		}
		name = strings.ToLower(name)
		if seen[name] {
			return fmt.Errorf("the option %q is given twice", name)
		}
		seen[name] = true
		if err := a.option(name, value); err != nil {
			return err
		}
	}
	if !a.after.IsZero() && !a.before.IsZero() && !a.after.Before(a.before) {
		return errors.New("valid-after is not before valid-before")
	}
	return nil
}

func (a *allowed) option(name, value string) (err error) {
	switch name {
	case "cert-authority":
		a.authority = true
	case "namespaces":
		if a.namespaces = value; value == "" {
			return errors.New("the option namespaces is empty")
		}
	case "valid-after":
		a.after, err = parseTime(value)
	case "valid-before":
		a.before, err = parseTime(value)
	default:
		return fmt.Errorf("unknown option %q", name)
	}
	return err
}

// parseTime reads YYYYMMDD[HHMM[SS]], in local time or with Z in UTC.
func parseTime(text string) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	in := time.Local
	if utc {
		in = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if t, err := time.ParseInLocation(layout, digits, in); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time of the form YYYYMMDD[HHMM[SS]][Z]", text)
}

// Verify returns the principals of the key that has signed a message. They are from the first line that allows
// the key for the namespace at the time now.
func (s *Signers) Verify(armored string, message []byte, namespace string, now time.Time) (principals string, err error) {
	sig, err := check(armored, message, namespace)
	if err != nil {
		return "", err
	}
	why := fmt.Errorf("the key %s is not in %s", ssh.FingerprintSHA256(keyOf(sig)), s.file)
	for _, a := range s.list {
		principals, err := a.allows(sig.PublicKey, namespace, now)
		if err == nil {
			return principals, nil
		}
		if !errors.Is(err, errOtherKey) {
			why = fmt.Errorf("the key %s in %s: %w", ssh.FingerprintSHA256(keyOf(sig)), s.file, err)
		}
	}
	return "", why
}

var errOtherKey = errors.New("another key")

// allows returns the principals of a key; errOtherKey if the line is about another key.
func (a *allowed) allows(key ssh.PublicKey, namespace string, now time.Time) (string, error) {
	c, certified := key.(*ssh.Certificate)
	switch {
	case a.authority && certified:
		key = c.SignatureKey
	case a.authority || certified:
		return "", errOtherKey
	}
	if !bytes.Equal(key.Marshal(), a.key.Marshal()) {
		return "", errOtherKey
	}
	if a.namespaces != "" && !pattern.MatchList(a.namespaces, namespace) {
		return "", fmt.Errorf("it is allowed only for namespaces=%q", a.namespaces)
	}
	if !a.after.IsZero() && now.Before(a.after) {
		return "", fmt.Errorf("it is valid after %s", a.after.Format(time.RFC3339))
	}
	if !a.before.IsZero() && now.After(a.before) {
		return "", fmt.Errorf("it is valid before %s", a.before.Format(time.RFC3339))
	}
	if !a.authority {
		return a.principals, nil
	}
	return a.certified(c, now)
}

// certified returns the principals of a certificate that the CA has signed.
func (a *allowed) certified(c *ssh.Certificate, now time.Time) (string, error) {
	if c.CertType != ssh.UserCert {
		return "", errors.New("the certificate is not a user certificate")
	}
	check := ssh.CertChecker{Clock: func() time.Time { return now }}
	var names []string
	why := fmt.Errorf("the certificate has no principal of %q", a.principals)
	for _, name := range c.ValidPrincipals {
		if !pattern.MatchList(a.principals, name) {
			continue
		}
		if err := check.CheckCert(name, c); err != nil {
			why = err
			continue
		}
		names = append(names, name)
	}
	if names == nil {
		return "", why
	}
	return strings.Join(names, ","), nil
}
