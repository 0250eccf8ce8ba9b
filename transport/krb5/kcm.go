package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// The request numbers of the KCM protocol that are used (Heimdal's kcm.h; the
// servers of MIT and sssd use the same protocol).
const (
	kcmGetPrincipal = 8
	kcmListTickets  = 9  // their UUIDs
	kcmGetTicket    = 10 // by UUID
	kcmDefaultCache = 20
	kcmClockOffset  = 22
)

const (
	// kcmPatience limits the time of all requests together; the server is on
	// this machine.
	kcmPatience = 3 * time.Second

	// maxKCM limits the size of an answer, as in MIT's library. maxTickets
	// limits the number of tickets that are requested.
	maxKCM     = 10 << 20
	maxTickets = 4096
)

// readKCM reads a cache of the type KCM, which a server on this machine holds.
// residual is the name of a cache; "" means the server's default cache.
func readKCM(ctx context.Context, socket, residual string) (*credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, kcmPatience)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("no KCM server listens on %s", socket)
		}
		return nil, fmt.Errorf("the KCM server on %s: %w", socket, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	k := kcm{conn}
	name := residual
	if name == "" {
		if name, err = k.defaultCache(); err != nil {
			return nil, k.failed(ctx, socket, err)
		}
	}
	c, err := k.cache(name)
	if err != nil {
		return nil, k.failed(ctx, socket, err)
	}
	return c, nil
}

// A kcm is a connection to the server.
type kcm struct{ io.ReadWriter }

func (k kcm) failed(ctx context.Context, socket string, err error) error {
	switch {
	case errors.Is(err, errNoCache):
		return errNoCache
	case ctx.Err() != nil:
		return fmt.Errorf("the KCM server on %s does not answer", socket)
	}
	return fmt.Errorf("the KCM server on %s: %w", socket, err)
}

// A kcmError is a status of the server: an error code of libkrb5's.
type kcmError int32

func (e kcmError) Error() string { return fmt.Sprintf("it refuses with code %d", int32(e)) }

// These codes mean that a cache or ticket does not exist: KRB5_FCC_NOFILE,
// KRB5_CC_NOTFOUND, KRB5_CC_END.
const (
	kcmNoFile   kcmError = -1765328189
	kcmNotFound kcmError = -1765328243
	kcmEnd      kcmError = -1765328242
)

// call sends a request: its length, version 2.0, its number and its arguments.
// The answer has two status values: that of the transport before the data, and
// that of the request in the first four bytes of the data.
func (k kcm) call(op uint16, args ...[]byte) (*reader, error) {
	body := binary.BigEndian.AppendUint16([]byte{2, 0}, op)
	for _, a := range args {
		body = append(body, a...)
	}
	if _, err := k.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(k, head[:]); err != nil {
		return nil, err
	}
	size, status := binary.BigEndian.Uint32(head[:4]), int32(binary.BigEndian.Uint32(head[4:]))
	if size > maxKCM {
		return nil, fmt.Errorf("its answer has %d bytes", size)
	}
	// Only received data is allocated, not the announced size.
	data, err := io.ReadAll(io.LimitReader(k, int64(size)))
	if err == nil && len(data) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	r := &reader{rest: data}
	if status == 0 {
		status = int32(r.u32())
	}
	switch kcmError(status) {
	case 0:
		return r, r.err
	case kcmNoFile, kcmNotFound, kcmEnd:
		return nil, errNoCache
	}
	return nil, kcmError(status)
}

func cstring(s string) []byte { return append([]byte(s), 0) }

func (k kcm) defaultCache() (string, error) {
	r, err := k.call(kcmDefaultCache)
	if err != nil {
		return "", err
	}
	name, _, ok := strings.Cut(string(r.rest), "\x00")
	if !ok || name == "" {
		return "", errors.New("its answer cannot be read")
	}
	return name, nil
}

// cache reads a cache.
func (k kcm) cache(name string) (*credentials, error) {
	if strings.Contains(name, "\x00") {
		return nil, errNoCache
	}
	r, err := k.call(kcmGetPrincipal, cstring(name))
	if err != nil {
		return nil, err
	}
	c := &credentials{client: r.principal()}
	if r.err != nil {
		return nil, r.err
	}
	if len(c.client.name.NameString) == 0 {
		return nil, errNoCache // created but never filled
	}
	list, err := k.call(kcmListTickets, cstring(name))
	if err != nil {
		return nil, err
	}
	for n := 0; len(list.rest) >= 16 && n < maxTickets; n++ {
		one, err := k.call(kcmGetTicket, cstring(name), list.bytes(16))
		if errors.Is(err, errNoCache) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		t := one.credential(4)
		if one.err != nil {
			return nil, one.err
		}
		c.add(t)
	}
	// Not every server stores the offset.
	if r, err := k.call(kcmClockOffset, cstring(name)); err == nil {
		c.offset = time.Duration(int32(r.u32())) * time.Second
	} else if _, ok := errors.AsType[kcmError](err); !ok && !errors.Is(err, errNoCache) {
		return nil, err
	}
	return c, nil
}
