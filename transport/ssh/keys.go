package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/filestamp"
	"bolt/internal/readfile"
	"bolt/transport"
)

// maxPassphraseTries is the maximum number of questions for a passphrase, the
// same as in ssh.
const maxPassphraseTries = 3

// defaultKeys are the files below ~/.ssh that are tried if no key file is
// configured.
var defaultKeys = [...]string{"id_ed25519", "id_ecdsa", "id_rsa"}

// keyFiles caches key files for all callers. Each file is read and parsed once,
// and again after it has changed. It never holds decrypted keys of encrypted
// files.
type keyFiles struct {
	mu      sync.Mutex
	files   map[string]*keyFile
	learned map[string]string // credentials → ID of the key that worked last
}

const (
	// maxKeyFiles and maxLearned limit the memory of a long-running process.
	maxKeyFiles = 1000
	maxLearned  = 10_000
)

func newKeyFiles() *keyFiles {
	return &keyFiles{files: make(map[string]*keyFile), learned: make(map[string]string)}
}

// A keyring holds the keys of one caller, including the keys that the caller
// has unlocked.
type keyring struct {
	disk   *keyFiles
	ask    func(context.Context, string) (transport.Secret, error) // nil: no user can be asked
	asking chan struct{}                                           // held while a question is asked

	mu    sync.Mutex
	files map[string]*keyFile
}

func newKeyring(disk *keyFiles, ask func(context.Context, string) (transport.Secret, error)) *keyring {
	return &keyring{disk: disk, ask: ask, asking: make(chan struct{}, 1), files: make(map[string]*keyFile)}
}

// A keyFile is one private key. It is locked until its passphrase is known.
// Only the fields below mu change after it was read.
type keyFile struct {
	path  string
	stamp filestamp.Stamp

	public ssh.PublicKey // nil if it is known only after unlocking
	text   []byte        // content of a locked key file

	mu     sync.Mutex
	signer ssh.AlgorithmSigner // nil while locked
	err    error               // why it cannot be unlocked
	wrong  transport.Secret    // the last wrong passphrase
}

// load returns the key of a file. It is locked unless this caller has unlocked
// it.
func (k *keyring) load(path string) (*keyFile, error) {
	disk, err := k.disk.load(path)
	if err != nil || disk.text == nil {
		return disk, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.files[path]; f != nil && f.stamp == disk.stamp {
		return f, nil
	}
	f := &keyFile{path: path, stamp: disk.stamp, public: disk.public, text: disk.text}
	k.files[path] = f
	return f, nil
}

func (k *keyFiles) load(path string) (*keyFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	stamp := filestamp.Of(info)
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.files[path]; f != nil && f.stamp == stamp {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseKey(text, path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f.stamp = stamp
	if len(k.files) >= maxKeyFiles {
		clear(k.files)
	}
	k.files[path] = f
	return f, nil
}

// parse parses the text of a key that is not in a file.
func (k *keyring) parse(text string) (*keyFile, error) {
	id := fmt.Sprintf("key-data %x", sha256.Sum256([]byte(text))) // a hash, so that the text is not stored a second time
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.files[id]; f != nil {
		return f, nil
	}
	f, err := parseKey([]byte(text), "")
	if err != nil {
		return nil, err
	}
	k.files[id] = f
	return f, nil
}

// parseKey parses a private key in any format of OpenSSH.
func parseKey(text []byte, path string) (*keyFile, error) {
	raw, err := ssh.ParseRawPrivateKey(text)
	if locked, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok || isEncryptedPKCS8(text) {
		f := &keyFile{path: path, text: text}
		if ok {
			f.public = locked.PublicKey
		}
		if f.public == nil && path != "" {
			f.public, _ = readPublicKey(path + ".pub")
		}
		return f, nil
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return unlocked(raw, path)
}

func unlocked(raw any, path string) (*keyFile, error) {
	s, err := ssh.NewSignerFromKey(raw)
	if err != nil {
		return nil, err
	}
	as, ok := s.(ssh.AlgorithmSigner)
	if !ok {
		return nil, fmt.Errorf("key of type %s cannot be used", s.PublicKey().Type())
	}
	return &keyFile{path: path, public: s.PublicKey(), signer: as}, nil
}

// readPublicKey reads a file with one public key, such as id_x.pub.
func readPublicKey(path string) (ssh.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return key, err
}

// state reports whether the key is locked, and why it cannot be unlocked.
func (f *keyFile) state() (locked bool, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.signer == nil, f.err
}

// unlock returns the signer of a key. If the key is locked, it asks for the
// passphrase: once for all callers of unlock, and one question at a time. A
// failed answer is cached. If ctx ended during the question, or if no user
// could be asked, nothing is cached.
func (k *keyring) unlock(ctx context.Context, f *keyFile) (ssh.AlgorithmSigner, error) {
	select {
	case k.asking <- struct{}{}:
		defer func() { <-k.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	signer, err := f.signer, f.err
	f.mu.Unlock()
	if signer != nil || err != nil {
		return signer, err
	}
	signer, err = k.question(ctx, f)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrNobody):
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signer, f.err = signer, err
	return signer, err
}

func (k *keyring) question(ctx context.Context, f *keyFile) (ssh.AlgorithmSigner, error) {
	if k.ask == nil || f.path == "" {
		return nil, errLocked
	}
	f.mu.Lock()
	wrong := f.wrong
	f.mu.Unlock()
	for range maxPassphraseTries {
		phrase, err := k.ask(ctx, f.path)
		switch {
		case errors.Is(err, ErrNobody):
			return nil, errLocked
		case err != nil:
			return nil, fmt.Errorf("passphrase of %s: %w", f.path, err)
		case wrong.IsSet() && phrase == wrong:
			return nil, errSameAnswer // the answer was stored, not typed
		}
		raw, err := decryptKey(f.text, []byte(phrase.Reveal()))
		if err != nil {
			wrong = phrase
			f.mu.Lock()
			f.wrong = phrase
			f.mu.Unlock()
			continue
		}
		open, err := unlocked(raw, f.path)
		if err != nil {
			return nil, err
		}
		if f.public != nil && !bytes.Equal(open.public.Marshal(), f.public.Marshal()) {
			return nil, fmt.Errorf("%s.pub does not belong to the key beside it", f.path)
		}
		return open.signer, nil
	}
	return nil, fmt.Errorf("passphrase of %s: wrong", f.path)
}

var (
	errLocked     error = caused{"key is encrypted and no user can be asked for its passphrase; load it into an agent", ErrNobody}
	errSameAnswer error = caused{"key is encrypted and its passphrase is wrong", ErrNobody}
)

// A candidate is a key that can be tried.
type candidate struct {
	id     string        // identifies it over several connections: the encoded public key
	label  string        // for display: the file or the agent's comment
	public ssh.PublicKey // a plain key or a certificate
	// sign returns a signature by one of the plain key's algorithms.
	sign func(ctx context.Context, data []byte, algorithm string) (*ssh.Signature, error)
	file *keyFile // nil for a key in the agent
}

// candidates lists the keys for an endpoint in the order in which they are
// tried.
func (v *View) candidates(ctx context.Context, e *endpoint, record *authRecord) []candidate {
	own, named := v.fileKeys(e, record)
	var fromAgent []candidate
	if e.to.LoadConfig {
		var err error
		if fromAgent, err = v.d.agent.candidates(ctx, v.agentSocket(e)); err != nil {
			record.note("%v", err)
			record.limited(err)
		}
	}
	// If the agent also holds a key, the agent signs without a question.
	var ownByAgent, namedByAgent, others []candidate
	for _, c := range fromAgent {
		switch {
		case slices.ContainsFunc(own, c.same):
			ownByAgent = append(ownByAgent, c)
		case slices.ContainsFunc(named, c.same):
			namedByAgent = append(namedByAgent, c)
		case !e.conf.IdentitiesOnly:
			others = append(others, c)
		}
	}
	var all []candidate
	for _, c := range slices.Concat(ownByAgent, own, namedByAgent, others, named) {
		if !slices.ContainsFunc(all, c.same) && v.usable(e, c, record) {
			all = append(all, c)
		}
	}
	return all
}

func (c candidate) same(o candidate) bool { return c.id == o.id }

// usable returns false for locked keys that cannot be unlocked, and notes the
// reason for the hint.
func (v *View) usable(e *endpoint, c candidate, record *authRecord) bool {
	if c.file == nil {
		return true
	}
	locked, why := c.file.state()
	switch {
	case !locked:
		return true
	case why != nil:
		record.note("%s (not tried: %v)", c.label, why)
		return false
	}
	if v.caller.Passphrase == nil || c.file.path == "" {
		record.note("%s (not tried: %v)", c.label, errLocked)
		record.want(c.file.path, false)
		return false
	}
	return true
}

// fileKeys returns the destination's own key, and the keys in ssh_config or
// else the default keys. The certificates of each key are before it.
func (v *View) fileKeys(e *endpoint, record *authRecord) (own, named []candidate) {
	if e.to.KeyData.IsSet() {
		f, err := v.keys.parse(e.to.KeyData.Reveal())
		if err != nil {
			record.note("key-data (%v)", err)
		} else {
			own = append(own, v.withCertificates(e, f, "key-data", record)...)
		}
	}
	if path := e.to.PrivateKey; path != "" {
		// The inventory warns about a file that cannot be opened, because it
		// knows the target's name. Only this function detects a file without a
		// usable key.
		f, err := v.keys.load(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			record.note("%s (does not exist)", path)
		case errors.Is(err, fs.ErrPermission):
			record.note("%s (%v)", path, err)
		case readfile.OutOfFiles(err):
			record.limited(err)
		case err != nil:
			v.warn("invalid_ssh_key", fmt.Sprintf("Private key file %s is not usable, trying without it: %v", path, err))
			record.note("%s (%v)", path, err)
		default:
			own = append(own, v.withCertificates(e, f, path, record)...)
		}
	}
	paths, missingMatters := e.conf.IdentityFiles, true
	if paths == nil && len(own) == 0 { // an empty list stands for "IdentityFile none"
		missingMatters = false
		for _, name := range defaultKeys {
			paths = append(paths, filepath.Join(v.caller.Home, ".ssh", name))
		}
	}
	for _, path := range paths {
		f, err := v.keys.load(path)
		switch {
		case err == nil:
			named = append(named, v.withCertificates(e, f, path, record)...)
		case !errors.Is(err, fs.ErrNotExist):
			record.note("%s (%v)", path, err)
			record.limited(err)
		case missingMatters:
			named = append(named, v.publicOnly(path, record)...)
		}
	}
	return own, named
}

// publicOnly returns a candidate for an IdentityFile whose private key is
// missing but whose public key is there. The agent may hold the private key
// (ssh_config(5), IdentityFile).
func (v *View) publicOnly(path string, record *authRecord) []candidate {
	pub, err := readPublicKey(path + ".pub")
	if err != nil {
		record.note("%s (does not exist)", path)
		return nil
	}
	f := &keyFile{path: path, public: pub, err: errors.New("only the public key is here")}
	return []candidate{{id: string(pub.Marshal()), label: path, public: pub, file: f, sign: v.keys.signerOf(f)}}
}

// withCertificates returns a key's certificates that are valid now, and then
// the key itself.
func (v *View) withCertificates(e *endpoint, f *keyFile, label string, record *authRecord) []candidate {
	if f.public == nil {
		// The key is known only with its passphrase, so it is tried without its
		// certificates.
		return []candidate{{id: f.path, label: label, file: f, sign: v.keys.signerOf(f)}}
	}
	var out []candidate
	files := slices.Clone(e.conf.CertificateFiles)
	if f.path != "" {
		files = append(files, f.path+"-cert.pub")
	}
	for _, path := range files {
		key, err := readPublicKey(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				record.note("%s (%v)", path, err)
			}
			continue
		}
		cert, ok := key.(*ssh.Certificate)
		if !ok || !bytes.Equal(cert.Key.Marshal(), f.public.Marshal()) {
			continue
		}
		if now := uint64(time.Now().Unix()); now < cert.ValidAfter || now >= cert.ValidBefore {
			record.note("%s (not valid now)", path)
			continue
		}
		out = append(out, candidate{id: string(cert.Marshal()), label: path, public: cert, file: f, sign: v.keys.signerOf(f)})
	}
	return append(out, candidate{id: string(f.public.Marshal()), label: label, public: f.public, file: f, sign: v.keys.signerOf(f)})
}

// signerOf returns a function that signs with a key file and unlocks it first.
func (k *keyring) signerOf(f *keyFile) func(context.Context, []byte, string) (*ssh.Signature, error) {
	return func(ctx context.Context, data []byte, algorithm string) (*ssh.Signature, error) {
		s, err := k.unlock(ctx, f)
		if err != nil {
			return nil, err
		}
		return s.SignWithAlgorithm(rand.Reader, data, algorithm)
	}
}

// credentials returns a name for the settings that decide which keys are tried.
func (v *View) credentials(e *endpoint) string {
	return strings.Join(slices.Concat([]string{e.to.PrivateKey, e.user, v.agentSocket(e), v.caller.Home}, e.conf.IdentityFiles), "\x00")
}

func (k *keyFiles) learn(credentials, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.learned) >= maxLearned {
		clear(k.learned)
	}
	k.learned[credentials] = id
}

// order moves the key that worked last with these settings to the front.
func (k *keyFiles) order(credentials string, steps []authStep) {
	k.mu.Lock()
	id, ok := k.learned[credentials]
	k.mu.Unlock()
	if !ok {
		return
	}
	slices.SortStableFunc(steps, func(a, b authStep) int {
		switch {
		case a.id == id && b.id != id:
			return -1
		case b.id == id && a.id != id:
			return 1
		}
		return 0
	})
}
