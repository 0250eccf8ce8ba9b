package knownhosts

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bolt/internal/filestamp"
	"bolt/transport/ssh/pattern"
)

// maxKnownHostsBytes is far above any real file (10,000 hosts have 2 MB).
const maxKnownHostsBytes = 256 << 20

// maxBadLines is the number of unusable lines of a file that are reported
// individually.
const maxBadLines = 5

// marker is the optional marker at the start of a record, which begins with @.
type marker uint8

const (
	markNone marker = iota
	markAuthority
	markRevoked
)

// record is one line of a known_hosts file.
type record struct {
	line    int
	marker  marker
	names   string // lower case; "" for a hashed name
	hashed  *hashedName
	keyType string
	blob    []byte // the key, as in RFC 4253, section 6.6
}

// hashedName is a host name in the format of HashKnownHosts: its HMAC-SHA1 with
// the salt as key.
type hashedName struct {
	inner, outer [sha1.BlockSize]byte // the salt, padded as in RFC 2104
	sum          [sha1.Size]byte
}

func newHashedName(salt []byte) *hashedName {
	var h hashedName
	if len(salt) > sha1.BlockSize {
		sum := sha1.Sum(salt)
		salt = sum[:]
	}
	copy(h.inner[:], salt)
	h.outer = h.inner
	for i := range h.inner {
		h.inner[i] ^= 0x36
		h.outer[i] ^= 0x5c
	}
	return &h
}

// of returns the hash of a name. It does the same as crypto/hmac without its
// allocations: with 10,000 hashed lines, it is called 10,000 times for each
// host.
func (h *hashedName) of(name string) [sha1.Size]byte {
	var buf [2*sha1.BlockSize + 256]byte
	in := append(append(buf[:0], h.inner[:]...), name...)
	sum := sha1.Sum(in)
	return sha1.Sum(append(append(buf[:0], h.outer[:]...), sum[:]...))
}

// knownSlot is the cache entry of one path. Its lock is taken before the lock
// of its file, and held while the file is read or written.
type knownSlot struct {
	path string

	mu     sync.Mutex
	stamp  filestamp.Stamp
	known  *knownFile // nil: not read yet
	looked time.Time  // time of the last comparison of the stamp
	fresh  bool       // it was written so recently that its time may not show a second change
	warned bool       // its faults were logged
}

// current returns the file in a state that is not older than age.
func (s *knownSlot) current(log *slog.Logger, age time.Duration) (*knownFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && age > 0 && time.Since(s.looked) < age {
		return s.known, nil
	}
	return s.refresh(log)
}

// refresh is current for callers that hold s.mu.
func (s *knownSlot) refresh(log *slog.Logger) (*knownFile, error) {
	var stamp filestamp.Stamp
	looked := time.Now()
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.Size() > maxKnownHostsBytes:
		return nil, fmt.Errorf("%s: larger than %d bytes", s.path, maxKnownHostsBytes)
	case err == nil:
		stamp = filestamp.Of(info)
	case !absent(err) && !errors.Is(err, fs.ErrPermission):
		return nil, err
	}
	if s.known != nil && s.stamp == stamp && !s.fresh {
		s.looked = looked
		return s.known, nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(s.path)
	}
	switch {
	case err == nil || absent(err):
	case errors.Is(err, fs.ErrPermission):
		if !s.warned {
			log.Warn("known hosts file is not used", "file", s.path, "reason", err)
			s.warned = true
		}
	default:
		return nil, err
	}
	known, bad := parseKnownHosts(s.path, string(data))
	if len(bad) > 0 && !s.warned {
		for _, b := range bad[:min(len(bad), maxBadLines)] {
			log.Warn("known hosts line is not used", "at", fmt.Sprintf("%s:%d", s.path, b.line), "reason", b.err)
		}
		if more := len(bad) - maxBadLines; more > 0 {
			log.Warn("more known hosts lines are not used", "file", s.path, "lines", more)
		}
		s.warned = true
	}
	s.known, s.stamp, s.looked = known, stamp, looked
	s.fresh = stamp.Fresh()
	return known, nil
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// knownFile is the content of a file. Records are only added to it, by record.
type knownFile struct {
	path string

	mu      sync.RWMutex
	lines   int  // lines that end with a newline
	torn    bool // the last line has no newline
	records []*record
	plain   map[string][]int // records without patterns, by name
	pattern []int            // records with * ? or !
	hashed  []int            // records whose names are not known yet
	unhash  map[string][]int // hashed records of each name that was looked up
}

type badLine struct {
	line int
	err  error
}

// parseKnownHosts parses the content of a file. As in OpenSSH, lines that
// cannot be used are left out.
func parseKnownHosts(path, text string) (*knownFile, []badLine) {
	f := &knownFile{path: path, plain: make(map[string][]int), unhash: make(map[string][]int)}
	var bad []badLine
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		n++
		r, err := parseKnownHost(l)
		switch {
		case err != nil:
			bad = append(bad, badLine{n, err})
		case r != nil:
			r.line = n
			f.add(r)
		}
	}
	f.lines = n - 1
	f.torn = text != "" && !strings.HasSuffix(text, "\n")
	return f, bad
}

// parseKnownHost parses one line: [marker] names type key [comment]. It returns
// nil for a blank line or a comment.
func parseKnownHost(l string) (*record, error) {
	word := func() (w string) {
		l = strings.TrimLeft(l, " \t")
		if i := strings.IndexAny(l, " \t"); i >= 0 {
			w, l = l[:i], l[i:]
		} else {
			w, l = l, ""
		}
		return w
	}
	l = strings.TrimRight(l, "\r")
	if t := strings.TrimLeft(l, " \t"); t == "" || t[0] == '#' {
		return nil, nil
	}
	r := &record{}
	names := word()
	switch names {
	case "@cert-authority":
		r.marker, names = markAuthority, word()
	case "@revoked":
		r.marker, names = markRevoked, word()
	}
	if strings.HasPrefix(names, "@") {
		return nil, fmt.Errorf("unknown marker %.40q", names)
	}
	var err error
	if strings.HasPrefix(names, "|") {
		r.hashed, err = parseHashedName(names)
	} else {
		r.names = pattern.Lower(names)
	}
	if err != nil {
		return nil, err
	}
	r.keyType = word()
	r.blob, err = base64.StdEncoding.DecodeString(word())
	if err != nil || len(r.blob) == 0 {
		return nil, fmt.Errorf("no key after the type %.40q", r.keyType)
	}
	if inside, ok := blobType(r.blob); !ok || inside != r.keyType {
		return nil, fmt.Errorf("the key is not of the type %.40q", r.keyType)
	}
	return r, nil
}

// parseHashedName parses |1|salt|hash.
func parseHashedName(s string) (*hashedName, error) {
	parts := strings.Split(s, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return nil, fmt.Errorf("unknown form of hashed name %.40q", s)
	}
	salt, err1 := base64.StdEncoding.DecodeString(parts[2])
	sum, err2 := base64.StdEncoding.DecodeString(parts[3])
	if err1 != nil || err2 != nil || len(salt) == 0 || len(sum) != sha1.Size {
		return nil, fmt.Errorf("broken hashed name %.80q", s)
	}
	h := newHashedName(salt)
	copy(h.sum[:], sum)
	return h, nil
}

// blobType returns the type that a marshalled key contains.
func blobType(blob []byte) (string, bool) {
	if len(blob) < 4 {
		return "", false
	}
	n := binary.BigEndian.Uint32(blob)
	if uint64(n) > uint64(len(blob)-4) {
		return "", false
	}
	return string(blob[4 : 4+n]), true
}

// add indexes a record. The caller must hold the lock.
func (f *knownFile) add(r *record) {
	i := len(f.records)
	f.records = append(f.records, r)
	switch {
	case r.hashed != nil:
		f.hashed = append(f.hashed, i)
	case strings.ContainsAny(r.names, "*?!"):
		f.pattern = append(f.pattern, i)
	default:
		for name := range strings.SplitSeq(r.names, ",") {
			if list := f.plain[name]; len(list) == 0 || list[len(list)-1] != i {
				f.plain[name] = append(list, i)
			}
		}
	}
}

// find returns the records for a name, in the order of their lines.
func (f *knownFile) find(name string) []*record {
	f.mu.RLock()
	hits := slices.Clone(f.plain[name])
	for _, i := range f.pattern {
		if pattern.MatchList(f.records[i].names, name) {
			hits = append(hits, i)
		}
	}
	records, hashed := f.records, f.hashed
	unhashed, asked := f.unhash[name]
	f.mu.RUnlock()

	if !asked && len(hashed) > 0 {
		for _, i := range hashed {
			if h := records[i].hashed; h.of(name) == h.sum {
				unhashed = append(unhashed, i)
			}
		}
		f.settle(name, unhashed, len(records))
	}
	hits = append(hits, unhashed...)
	slices.Sort(hits)
	list := make([]*record, len(hits))
	for n, i := range hits {
		list[n] = records[i]
	}
	return list
}

// settle stores the hashed records of a name, as found among the first n
// records. These records cannot belong to other names, so they are not compared
// again. That halves the time for all hosts of a file.
func (f *knownFile) settle(name string, unhashed []int, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.records) != n {
		return // a line was added meanwhile: the next lookup searches again
	}
	f.unhash[name] = unhashed
	if len(unhashed) > 0 {
		f.hashed = slices.DeleteFunc(slices.Clone(f.hashed), func(i int) bool { return slices.Contains(unhashed, i) })
	}
}

// append adds a record for a name after it was written to the file.
func (f *knownFile) append(r *record, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines, f.torn = r.line, false
	f.add(r)
	if list, asked := f.unhash[name]; asked && r.hashed != nil {
		f.unhash[name] = append(slices.Clone(list), len(f.records)-1)
	}
}
