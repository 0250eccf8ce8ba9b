package farm

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Delay adds a network with a round-trip time between clients and the targets. It is for a farm of
// real servers, and must be called before the first connection.
func (f *Farm) Delay(roundTrip time.Duration) error {
	_, err := f.Network(roundTrip, 0)
	return err
}

// Network is Delay with a limit of the bits per second for each direction of a connection, 0 for no limit, and with a counter:
// carried returns the number of bytes that the network has carried, in both directions.
func (f *Farm) Network(roundTrip time.Duration, rate int64) (carried func() int64, err error) {
	port, err := os.ReadFile(filepath.Join(f.Dir, "port"))
	if err != nil {
		return nil, err
	}
	was := strings.TrimSpace(string(port))
	d := &delayed{oneWay: roundTrip / 2, rate: rate}
	stop := f.stop
	f.stop = func() error {
		d.close()
		return stop()
	}
	now := "0" // the kernel's choice for the first target, the same for the others
	for _, host := range f.Hosts {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, now))
		if err != nil {
			return nil, err
		}
		_, now, err = net.SplitHostPort(l.Addr().String())
		d.serve(l, net.JoinHostPort(host, was))
		if err != nil {
			return nil, err
		}
	}
	for _, file := range []string{f.Inventory(), f.SSHConfig(), filepath.Join(f.Home(), ".ssh", "known_hosts")} {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, form := range []string{"port: ", "Port ", "]:"} {
			text = bytes.ReplaceAll(text, []byte(form+was), []byte(form+now))
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
	}
	return d.carried.Load, nil
}

// delayed carries TCP connections and delays each byte. close ends all of them.
type delayed struct {
	oneWay  time.Duration
	rate    int64 // bits per second; 0 is no limit
	work    sync.WaitGroup
	carried atomic.Int64

	mu   sync.Mutex
	over bool
	open []io.Closer
}

// keep records a closer for close. After close, it closes it immediately.
func (d *delayed) keep(c io.Closer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		c.Close()
		return
	}
	d.open = append(d.open, c)
}

func (d *delayed) close() {
	d.mu.Lock()
	d.over = true
	for _, c := range d.open {
		c.Close()
	}
	d.mu.Unlock()
	d.work.Wait()
}

// serve carries all connections to a listener on to an address.
func (d *delayed) serve(l net.Listener, to string) {
	d.keep(l)
	d.work.Go(func() {
		for {
			near, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			far, err := net.Dial("tcp4", to)
			if err != nil {
				near.Close()
				continue
			}
			d.keep(near)
			d.keep(far)
			d.work.Go(func() { d.carry(far, near) })
			d.work.Go(func() { d.carry(near, far) })
		}
	})
}

// maxInFlight limits the pieces in transit in one direction.
const maxInFlight = 4096

// carry moves bytes one way. Each piece is delivered at its due time, so that a delay does not
// reduce the rate of the network.
func (d *delayed) carry(to, from net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, maxInFlight)
	d.work.Go(func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				from.Close()
			}
		}
	})
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	var free time.Time // when the line has carried all pieces before
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			d.carried.Add(int64(n))
			if now := time.Now(); free.Before(now) {
				free = now
			}
			if d.rate > 0 {
				free = free.Add(time.Duration(int64(n) * 8 * int64(time.Second) / d.rate))
			}
			pieces <- piece{free.Add(d.oneWay), bytes.Clone(buffer[:n])}
		}
		if err != nil {
			return
		}
	}
}
