package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// A floor is the minimum of a client of this SSH library: a bare loop in this
// process, over open connections, without a process start, a daemon or any
// use of the result. Its processor time is the time of this process, which
// does nothing else meanwhile.
type floor struct {
	clients []*ssh.Client
	atOnce  int
}

// patience bounds each step of a floor.
const patience = time.Minute

// hold connects to all hosts of a farm, at most atOnce at a time.
func hold(ctx context.Context, f *farm.Farm, atOnce int) (*floor, error) {
	pem, err := os.ReadFile(filepath.Join(f.Dir, "id_ed25519"))
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return nil, err
	}
	known, err := os.ReadFile(filepath.Join(f.Home(), ".ssh", "known_hosts"))
	if err != nil {
		return nil, err
	}
	user, err := f.User()
	if err != nil {
		return nil, err
	}
	fl := &floor{clients: make([]*ssh.Client, len(f.Hosts)), atOnce: atOnce}
	var keys []ssh.PublicKey
	var addresses []string
	for range f.Hosts {
		var hosts []string
		var key ssh.PublicKey
		if _, hosts, key, _, known, err = ssh.ParseKnownHosts(known); err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(hosts[0]) // "[address]:port"
		if err != nil {
			return nil, err
		}
		keys, addresses = append(keys, key), append(addresses, net.JoinHostPort(host, port))
	}
	err = fl.each(func(i int) error {
		c, err := connect(ctx, addresses[i], &ssh.ClientConfig{
			Config:            ssh.Config{KeyExchanges: []string{"curve25519-sha256"}, Ciphers: []string{"aes128-gcm@openssh.com"}},
			User:              user,
			Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
			HostKeyCallback:   ssh.FixedHostKey(keys[i]),
			HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		})
		if err != nil {
			return err
		}
		fl.clients[i] = c
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, fl.close())
	}
	return fl, nil
}

func connect(ctx context.Context, address string, config *ssh.ClientConfig) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	tcp, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := tcp.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c, channels, requests, err := ssh.NewClientConn(tcp, address, config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", address, err), tcp.Close())
	}
	return ssh.NewClient(c, channels, requests), tcp.SetDeadline(time.Time{})
}

// each calls do for every connection, at most atOnce at a time.
func (fl *floor) each(do func(i int) error) error {
	var work sync.WaitGroup
	errs := make([]error, len(fl.clients))
	next := make(chan int)
	for range min(fl.atOnce, len(fl.clients)) {
		work.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range fl.clients {
		next <- i
	}
	close(next)
	work.Wait()
	return errors.Join(errs...)
}

// exec opens a session on each connection and runs true in it.
func (fl *floor) exec(i int) error {
	ch, requests, err := fl.clients[i].OpenChannel("session", nil)
	if err != nil {
		return err
	}
	defer ch.Close()
	// The loop does not wait for a reply, which would be one more round trip.
	if _, err := ch.SendRequest("exec", false, ssh.Marshal(struct{ Line string }{"true"})); err != nil {
		return err
	}
	for r := range requests {
		if r.Type == "exit-status" { // RFC 4254 section 6.10
			var status struct{ Code uint32 }
			if err := ssh.Unmarshal(r.Payload, &status); err != nil || status.Code != 0 {
				return fmt.Errorf("exit status %d, %w", status.Code, err)
			}
			return nil
		}
	}
	return errors.New("a session ended without a status")
}

// round measures one call of do for each connection.
func (fl *floor) round(do func(i int) error) (measure.Sample, error) {
	before, start := ownCPU(), time.Now()
	err := fl.each(do)
	return measure.Sample{Wall: time.Since(start), CPU: ownCPU() - before}, err
}

func ownCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0 // never, clock_gettime(2)
	}
	return time.Duration(t.Nano())
}

func (fl *floor) close() error {
	return fl.each(func(i int) error {
		if fl.clients[i] == nil {
			return nil
		}
		return fl.clients[i].Close()
	})
}
