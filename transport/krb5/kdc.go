package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
)

const (
	// kdcPatience limits the time of all KDCs of a realm together, because a
	// login may have to try other methods within its own time.
	kdcPatience = 4 * time.Second

	// nextKDC is the time without an answer after which the next KDC is
	// queried, too.
	nextKDC = time.Second

	// maxAnswer limits the size of an answer. Tickets from Active Directory may
	// have 64 KiB.
	maxAnswer = 1 << 20

	// maxDatagram limits the size of a request by UDP (MIT's
	// udp_preference_limit).
	maxDatagram = 1465
)

// A kdc is the protocol and address of a KDC.
type kdc struct{ network, address string }

// errTooBig is the error if a KDC requires TCP.
var errTooBig = errors.New("the answer is too large for UDP")

// silentFor is the time for which KDCs that have not answered are not queried
// again. So a thousand logins do not wait for them one after the other.
const silentFor = 15 * time.Second

type silence struct {
	since time.Time
	err   error
}

// ask calls exchange, and remembers KDCs that do not answer.
func (s *Session) ask(ctx context.Context, conf *config, realm string, question []byte) ([]byte, error) {
	s.mu.Lock()
	gone, ok := s.silent[realm]
	s.mu.Unlock()
	if ok && s.o.Now().Sub(gone.since).Abs() < silentFor {
		return nil, gone.err
	}
	answer, err := conf.exchange(ctx, s.o.Resolver, realm, question)
	if err != nil && ctx.Err() == nil {
		s.mu.Lock()
		s.silent[realm] = silence{s.o.Now(), err}
		s.mu.Unlock()
	}
	return answer, err
}

// exchange queries the KDCs of a realm and returns the first answer. A KDC that
// does not answer delays the next one by a second. TCP is tried before UDP: a
// closed port is detected at once, and a long answer does not need a second
// query.
func (c *config) exchange(ctx context.Context, dns *net.Resolver, realm string, question []byte) ([]byte, error) {
	whole, cancel := context.WithTimeout(ctx, kdcPatience)
	defer cancel()
	list, err := c.kdcs(whole, dns, realm)
	if err != nil {
		return nil, err
	}
	if len(question) > maxDatagram {
		list = slices.DeleteFunc(list, func(k kdc) bool { return k.network == "udp" })
	}
	type answer struct {
		data []byte
		err  error
	}
	answers := make(chan answer, len(list))
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel() // ends the queries that are not needed any more
	var failures []error
	running, next := 0, list
	timer := time.NewTimer(0)
	defer timer.Stop()
	for len(next) > 0 || running > 0 {
		var start <-chan time.Time
		if len(next) > 0 {
			start = timer.C
		}
		select {
		case <-start:
			k := next[0]
			next = next[1:]
			running++
			work.Go(func() {
				data, err := k.ask(whole, dns, question)
				answers <- answer{data, err}
			})
			timer.Reset(nextKDC)
		case a := <-answers:
			running--
			if a.err == nil {
				return a.data, nil
			}
			failures = append(failures, a.err)
			timer.Reset(0)
		case <-whole.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, context.Cause(ctx)
			}
			if running > 0 {
				failures = append(failures, errors.New("no answer in time"))
			}
			return nil, c.unreachable(realm, list, failures)
		}
	}
	return nil, c.unreachable(realm, list, failures)
}

func (c *config) unreachable(realm string, list []kdc, failures []error) error {
	var names, reasons []string
	for _, k := range list {
		if !slices.Contains(names, k.address) {
			names = append(names, k.address)
		}
	}
	for _, err := range failures {
		if text := err.Error(); !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	if len(names) > 4 {
		names = append(names[:4], "…")
	}
	return refuse(fmt.Sprintf("No KDC of the realm %s answers (%s): %s", realm, strings.Join(names, ", "), strings.Join(reasons, "; ")),
		"Check the network and the realm's kdc lines in krb5.conf.", errors.Join(failures...))
}

// kdcs lists the KDCs of a realm: those in krb5.conf, or else those in DNS (RFC
// 4120 7.2.3.2).
func (c *config) kdcs(ctx context.Context, dns *net.Resolver, realm string) ([]kdc, error) {
	var list []kdc
	proxies := false
	for _, line := range c.tree.find("realms", realm).values("kdc") {
		for _, text := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
			if strings.Contains(text, "://") {
				proxies = true
				continue
			}
			if strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";") {
				break
			}
			list = append(list, kdc{"tcp", kdcAddress(text)})
		}
	}
	if len(list) == 0 && c.srv {
		for _, network := range []string{"tcp", "udp"} {
			// A final dot prevents the use of search domains.
			_, records, err := dns.LookupSRV(ctx, "kerberos", network, strings.TrimSuffix(realm, ".")+".")
			if err != nil {
				continue
			}
			for _, r := range records {
				if r.Target != "." {
					list = append(list, kdc{network, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port)))})
				}
			}
		}
	} else {
		for _, k := range slices.Clone(list) {
			list = append(list, kdc{"udp", k.address})
		}
	}
	switch {
	case len(list) > 0:
		return list, nil
	case proxies:
		return nil, refuse(fmt.Sprintf("The realm %s has only KDCs behind HTTPS proxies (kdc = https://…), which cannot be reached", realm),
			"Set the address of a KDC in krb5.conf, or use the system's ssh.", nil)
	}
	return nil, refuse(fmt.Sprintf("No KDC of the realm %s is known", realm),
		fmt.Sprintf("Add a kdc for the realm under [realms] in %s, or run kinit for a principal of another realm.", c.where), nil)
}

// kdcAddress adds the default port if krb5.conf has none.
func kdcAddress(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), "88"
	}
	return net.JoinHostPort(host, port)
}

// ask sends a request and reads the answer. If the answer is not an answer of a
// KDC, it returns an error.
func (k kdc) ask(ctx context.Context, dns *net.Resolver, question []byte) (answer []byte, err error) {
	d := net.Dialer{Resolver: dns}
	c, err := d.DialContext(ctx, k.network, k.address)
	if err != nil {
		return nil, k.failed(err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if k.network == "udp" {
		if _, err := c.Write(question); err != nil {
			return nil, k.failed(err)
		}
		buffer := make([]byte, 64<<10)
		n, err := c.Read(buffer)
		if err != nil {
			return nil, k.failed(err)
		}
		answer = buffer[:n]
	} else {
		// RFC 4120 7.2.2: the message follows its length of four bytes.
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(question))), question...)); err != nil {
			return nil, k.failed(err)
		}
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return nil, k.failed(err)
		}
		size := binary.BigEndian.Uint32(head[:])
		if size > maxAnswer {
			return nil, fmt.Errorf("%s: its answer is not a KDC's answer", k.address)
		}
		answer = make([]byte, size)
		if _, err := io.ReadFull(c, answer); err != nil {
			return nil, k.failed(err)
		}
	}
	if !plausible(answer) {
		return nil, fmt.Errorf("%s: its answer is not a KDC's answer", k.address)
	}
	if refusal, err := asKRBError(answer); err != nil {
		return nil, fmt.Errorf("%s: %w", k.address, err)
	} else if refusal != nil && refusal.ErrorCode == errorcode.KRB_ERR_RESPONSE_TOO_BIG {
		return nil, k.failed(errTooBig)
	} else if refusal != nil && refusal.ErrorCode == errorcode.KDC_ERR_SVC_UNAVAILABLE {
		return nil, fmt.Errorf("%s: it reports that it is not available", k.address)
	}
	return answer, nil
}

// plausible checks the tag: an AS-REP, a TGS-REP or a KRB-ERROR.
func plausible(b []byte) bool {
	return len(b) > 2 && (b[0] == 0x6b || b[0] == 0x6d || b[0] == 0x7e)
}

func (k kdc) failed(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it closed the connection")
	}
	return fmt.Errorf("%s/%s: %w", k.address, k.network, err)
}
