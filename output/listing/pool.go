package listing

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"bolt/internal/period"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/pool/wire"
)

// Pool is the data of "pool status".
type Pool struct {
	Status *wire.Status // nil: no daemon runs
	Socket string       // the path of the socket that a daemon would use
	Now    time.Time
}

// PrintPool prints the state of the pool daemon: the daemon first, then a
// line for each connection, the busiest state first, or one JSON document.
func PrintPool(w io.Writer, o Options, p *Pool) error {
	if o.Format.Data {
		return p.writeJSON(w)
	}
	out := bufio.NewWriter(w)
	s := p.Status
	if s == nil {
		fmt.Fprintf(out, "No pool daemon runs (it would listen at %s).\n", p.Socket)
		return out.Flush()
	}
	state := "running"
	if s.Draining {
		state = "draining"
	}
	heading(out, o.Color, "Pool daemon")
	fmt.Fprintf(out, "  %s, pid %d, version %s, up %s\n", state, s.PID, safetext.TerminalString(s.Version), period.Text(p.Now.Sub(s.Started)))
	log := s.Log
	if log == "" {
		log = "its standard error (under systemd: journalctl --user -u bolt-pool)"
	}
	fmt.Fprintf(out, "  socket %s\n  log    %s\n", s.Socket, log)
	fmt.Fprintf(out, "  %s, %s in flight, %s connected\n", layout.Plural(s.Clients, "client"), layout.Plural(s.InFlight, "request"), layout.Plural(machines(s.Connections), "machine"))
	fmt.Fprintf(out, "  %s opened (%s failed), %s saved, %s done\n", layout.Plural(int(s.Dials), "connection"), layout.Plural(int(s.DialsFailed), "dial"), layout.Plural(int(s.DialsSaved), "dial"), layout.Plural(int(s.Runs), "action"))
	fmt.Fprintf(out, "  memory %s, %s in %d contents; %d open files\n", size(s.Memory), size(uint64(s.ContentSize)), s.Contents, s.Files)
	fmt.Fprintf(out, "  at most %d connections, each closed after %s without use%s\n", s.Limits.MaxConnections, period.Text(s.Limits.IdleTimeout), maxAge(s.Limits.MaxAge))
	if len(s.Connections) > 0 {
		out.WriteString("\n")
		heading(out, o.Color, "Connections")
		if err := connections(out, s.Connections); err != nil {
			return err
		}
	}
	return out.Flush()
}

func maxAge(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", or when older than " + period.Text(d)
}

func connections(w io.Writer, list []wire.Connection) error {
	order := []string{wire.Busy, wire.Dialing, wire.Closing, wire.Idle}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b wire.Connection) int {
		if d := slices.Index(order, a.State) - slices.Index(order, b.State); d != 0 {
			return d
		}
		return strings.Compare(a.Peer, b.Peer)
	})
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  PEER\tSTATE\tAGE\tIDLE\tIN FLIGHT\tWAITING\tSESSIONS\tRUNS\tSAVED\tSENT\tRECEIVED")
	for _, c := range list {
		idle := "-"
		if c.State == wire.Idle {
			idle = period.Text(c.Idle)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", safetext.TerminalString(c.Peer), c.State, period.Text(c.Age), idle,
			c.InFlight, c.Waiting, c.Sessions, c.Runs, c.DialsSaved, size(c.Sent), size(c.Received))
	}
	return t.Flush()
}

func (p *Pool) writeJSON(w io.Writer) error {
	var doc any = struct {
		Running bool   `json:"running"`
		Socket  string `json:"socket"`
	}{false, p.Socket}
	if s := p.Status; s != nil {
		if s.Connections == nil {
			s.Connections = []wire.Connection{}
		}
		doc = struct {
			Running bool `json:"running"`
			*wire.Status
		}{true, s}
	}
	return json.NewEncoder(w).Encode(doc)
}

// size returns a number of bytes in the largest unit in which it is at least 1.
func size(n uint64) string {
	const units = "KMGT"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/(1<<10), 0
	for f >= 1<<10 && i < len(units)-1 {
		f, i = f/(1<<10), i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}

// machines counts the machines of connections: a machine can have several connections.
func machines(list []wire.Connection) int {
	peers := make(map[string]bool)
	for _, c := range list {
		peers[c.Peer] = true
	}
	return len(peers)
}
