package daemon

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/pool/wire"
)

// metrics returns a status in Prometheus's text exposition format 0.0.4. There are
// no labels for machines, because their number is not limited.
func metrics(st *wire.Status) []byte {
	var b bytes.Buffer
	metric := func(name, kind, help string, value any) {
		fmt.Fprintf(&b, "# HELP bolt_pool_%s %s\n# TYPE bolt_pool_%[1]s %[3]s\nbolt_pool_%[1]s %[4]v\n", name, help, kind, value)
	}
	const gauge, counter = "gauge", "counter"
	states := make(map[string]int)
	var waiting int
	var sent, received uint64
	for _, c := range st.Connections {
		states[c.State]++
		waiting += c.Waiting
		sent += c.Sent
		received += c.Received
	}

	metric("up", gauge, "Whether the pool daemon runs.", 1)
	fmt.Fprintf(&b, "# HELP bolt_pool_build_info Version of the program and of its protocol.\n# TYPE bolt_pool_build_info gauge\nbolt_pool_build_info{version=%s,protocol=\"%d\"} 1\n",
		label(st.Version), st.Protocol)
	metric("start_time_seconds", gauge, "When the daemon started, in seconds since 1970.", seconds(time.Duration(st.Started.UnixNano())))
	metric("draining", gauge, "Whether the daemon is draining and starts no new requests.", number(st.Draining))
	metric("clients", gauge, "Invocations of bolt that are connected.", st.Clients)
	metric("requests_in_flight", gauge, "Requests in progress.", st.InFlight)
	fmt.Fprint(&b, "# HELP bolt_pool_connections Connections to machines.\n# TYPE bolt_pool_connections gauge\n")
	for _, s := range []string{wire.Dialing, wire.Idle, wire.Busy, wire.Closing} {
		fmt.Fprintf(&b, "bolt_pool_connections{state=%q} %d\n", s, states[s])
	}
	metric("connections_limit", gauge, "Connections that may be open at a time.", st.Limits.MaxConnections)
	metric("requests_waiting", gauge, "Requests that wait for a session on a connection.", waiting)
	metric("dials_total", counter, "Connections that were opened.", st.Dials)
	metric("dials_saved_total", counter, "Dials that were answered with an open connection.", st.DialsSaved)
	metric("dials_failed_total", counter, "Dials that failed.", st.DialsFailed)
	metric("runs_total", counter, "Commands and copies that were begun.", st.Runs)
	metric("connections_sent_bytes", gauge, "Bytes sent on the connections that are open.", sent)
	metric("connections_received_bytes", gauge, "Bytes received on the connections that are open.", received)
	metric("contents", gauge, "File contents that are kept.", st.Contents)
	metric("contents_bytes", gauge, "Bytes of file contents that are kept.", st.ContentSize)
	metric("resident_memory_bytes", gauge, "Memory of the daemon's process.", st.Memory)
	metric("goroutines", gauge, "Goroutines of the daemon's process.", st.Goroutines)
	metric("open_fds", gauge, "Open file descriptors of the daemon's process.", st.Files)
	return b.Bytes()
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// label quotes a label's value. The format escapes only these three characters.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
