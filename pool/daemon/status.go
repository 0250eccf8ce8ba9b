package daemon

import (
	"os"
	"runtime"

	"bolt/pool"
	"bolt/pool/wire"
)

// status returns the daemon's status. It does not count the client that asks.
func (s *Server) status() *wire.Status {
	p, totals := s.life.pulse(), s.o.Pool.Totals()
	st := &wire.Status{
		PID: os.Getpid(), Version: s.o.Build, Protocol: wire.Version,
		Socket: s.socket.path, Log: s.o.Log, Started: s.started, Draining: p.draining,
		Clients: max(0, p.clients-1), InFlight: p.requests,
		Dials: totals.Dials, DialsSaved: totals.DialsSaved, DialsFailed: totals.DialsFailed, Runs: totals.Runs,
		Memory: residentBytes(), Goroutines: runtime.NumGoroutine(), Files: openFiles(),
		Limits:      s.o.Limits,
		Connections: []wire.Connection{},
	}
	st.Contents, st.ContentSize = s.contents.sum()
	for _, c := range s.o.Pool.Connections() {
		st.Connections = append(st.Connections, connection(c))
	}
	return st
}

func connection(c pool.Connection) wire.Connection {
	return wire.Connection{
		Peer: c.Peer, State: c.State, Age: c.Age, Idle: c.Idle, InFlight: c.InFlight, Waiting: c.Waiting, Sessions: c.Sessions,
		Runs: c.Runs, DialsSaved: c.DialsSaved, Sent: c.Sent, Received: c.Received,
	}
}
