// Package freeport finds TCP ports for the servers of tests and benchmarks.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Linux gives the ports from high to other sockets by itself (ip_local_port_range in ip(7)).
const low, high = 10_000, 32_768

// Find returns n different free ports of 127.0.0.1, for servers that start later. Linux does not give
// them to other sockets meanwhile.
func Find(n int) (ports []string, err error) {
	var held []net.Listener // all at the same time, so that they differ
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := strconv.Itoa(low + rand.IntN(high-low))
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			held, ports = append(held, l), append(ports, port)
		}
	}
	return nil, fmt.Errorf("find %d free ports: %w", n, err)
}
