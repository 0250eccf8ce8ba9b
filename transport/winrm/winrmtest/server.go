// Package winrmtest is a WinRM server for tests. It supports WS-Management over
// HTTP and HTTPS, NTLM with encrypted messages, Basic, and remote shells whose
// commands a Machine runs.
//
// It implements the protocol from its specifications (MS-WSMV, MS-NLMP). It
// shares no code with the client except the text of the program.
package winrmtest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options are the options of a Server.
type Options struct {
	User, Password string
	TLS            bool
	Schemes        []string // offered schemes; nil: Negotiate
	Flags          uint32   // flags of NTLM challenges; 0: AllFlags
	Piece          int      // bytes in one Stream element; 0: 8 KiB
	Machine        *Machine
	// Before is called before each message is answered. If it returns true, it
	// has sent the answer itself. n is the number of messages of that action,
	// including this one.
	Before func(action string, n int, w http.ResponseWriter, r *http.Request) bool
}

// A Server is one WinRM server.
type Server struct {
	Port int
	Cert *x509.Certificate // nil without TLS

	o   Options
	ctx context.Context // context of the test
	ts  *httptest.Server

	mu     sync.Mutex
	counts map[string]int
	shells map[string]*shell
	work   sync.WaitGroup
}

// New starts a server on a port of 127.0.0.1. It ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Flags == 0 {
		o.Flags = AllFlags
	}
	if o.Piece == 0 {
		o.Piece = 8 << 10
	}
	if o.Schemes == nil {
		o.Schemes = []string{"Negotiate"}
	}
	s := &Server{o: o, ctx: t.Context(), counts: make(map[string]int), shells: make(map[string]*shell)}
	s.ts = httptest.NewUnstartedServer(s)
	s.ts.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, key{}, &connection{})
	}
	s.ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // tests disconnect clients on purpose
	if o.TLS {
		s.ts.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		s.ts.StartTLS()
		s.Cert = s.ts.Certificate()
	} else {
		s.ts.Start()
	}
	s.Port = s.ts.Listener.Addr().(*net.TCPAddr).Port
	t.Cleanup(func() {
		s.mu.Lock()
		for _, sh := range s.shells {
			sh.end()
		}
		s.mu.Unlock()
		s.ts.CloseClientConnections()
		s.ts.Close()
		s.work.Wait()
	})
	return s
}

// Shells returns the number of shells.
func (s *Server) Shells() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.shells)
}

// Count returns the number of received messages of an action ("Create").
func (s *Server) Count(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[action]
}

// Forget removes all shells, like a restart of the server.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, sh := range s.shells {
		sh.end()
		delete(s.shells, id)
	}
}

type key struct{}

// A connection is the state of a TCP connection.
type connection struct{ ntlm *session }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(key{}).(*connection)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 512000))
	if err != nil {
		return
	}
	if r.URL.Path != "/wsman" || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !s.allowed(w, r, conn) {
		return
	}
	if len(body) == 0 {
		w.WriteHeader(http.StatusOK)
		return
	}
	sealed := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/encrypted")
	if sealed {
		if body, err = conn.ntlm.open(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	} else if !s.o.TLS { // AllowUnencrypted is false
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	status, answer := s.message(w, r, body)
	if answer == "" {
		return
	}
	out := []byte(answer)
	if sealed {
		out = conn.ntlm.seal(out)
		w.Header().Set("Content-Type", `multipart/encrypted;protocol="application/HTTP-SPNEGO-session-encrypted";boundary="Encrypted Boundary"`)
	} else {
		w.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
	}
	w.WriteHeader(status)
	_, _ = w.Write(out)
}

// allowed authenticates a request.
func (s *Server) allowed(w http.ResponseWriter, r *http.Request, conn *connection) bool {
	refuse := func(negotiate string) bool {
		for _, scheme := range s.o.Schemes {
			if scheme == "Negotiate" && negotiate != "" {
				scheme += " " + negotiate
			}
			w.Header().Add("WWW-Authenticate", scheme)
		}
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	scheme, param, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch scheme {
	case "":
		if conn.ntlm == nil || !conn.ntlm.ok {
			return refuse("")
		}
		return true
	case "Basic":
		user, password, _ := r.BasicAuth()
		offered := false
		for _, scheme := range s.o.Schemes {
			offered = offered || strings.HasPrefix(scheme, "Basic")
		}
		if !offered || user != s.o.User || password != s.o.Password {
			return refuse("")
		}
		return true
	}
	token, err := base64.StdEncoding.DecodeString(param)
	if scheme != "Negotiate" || err != nil || s.o.Schemes[0] != "Negotiate" {
		return refuse("")
	}
	if conn.ntlm == nil || conn.ntlm.ok {
		conn.ntlm = &session{user: s.o.User, password: s.o.Password, cert: s.Cert, flags: s.o.Flags}
	}
	answer, more, err := conn.ntlm.token(token)
	if err != nil {
		conn.ntlm = nil
		return refuse("")
	}
	if more {
		return refuse(base64.StdEncoding.EncodeToString(answer))
	}
	return true
}

// request holds the used parts of a message.
type request struct {
	Action   string `xml:"Header>Action"`
	Resource string `xml:"Header>ResourceURI"`
	Timeout  string `xml:"Header>OperationTimeout"`
	ID       string `xml:"Header>MessageID"`
	Selector string `xml:"Header>SelectorSet>Selector"`
	Command  string `xml:"Body>CommandLine>Command"`
	Send     struct {
		Command string `xml:"CommandId,attr"`
		End     string `xml:"End,attr"`
		Data    string `xml:",chardata"`
	} `xml:"Body>Send>Stream"`
	Receive struct {
		Command string `xml:"CommandId,attr"`
	} `xml:"Body>Receive>DesiredStream"`
	Signal struct {
		Command string `xml:"CommandId,attr"`
		Code    string `xml:"Code"`
	} `xml:"Body>Signal"`
}

const envelope = `<s:Envelope xml:lang="en-US" xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:x="http://schemas.xmlsoap.org/ws/2004/09/transfer" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell" xmlns:p="http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd"><s:Header/><s:Body>%s</s:Body></s:Envelope>`

// Fault returns an answer that refuses a message.
func Fault(subcode, code, text string) string {
	return fmt.Sprintf(envelope, `<s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>`+subcode+`</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">`+text+
		`</s:Text></s:Reason><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="`+code+`" Machine="win1"><f:Message>`+text+`</f:Message></f:WSManFault></s:Detail></s:Fault>`)
}

// message returns the answer to one message, or "" if Before has sent it.
func (s *Server) message(w http.ResponseWriter, r *http.Request, body []byte) (int, string) {
	var q request
	if err := xml.Unmarshal(body, &q); err != nil || q.ID == "" || !strings.HasSuffix(q.Resource, "/shell/cmd") {
		return http.StatusInternalServerError, Fault("w:SchemaValidationError", "2150858817", "the message makes no sense")
	}
	action := q.Action[strings.LastIndex(q.Action, "/")+1:]
	s.mu.Lock()
	s.counts[action]++
	n := s.counts[action]
	s.mu.Unlock()
	if s.o.Before != nil && s.o.Before(action, n, w, r) {
		return 0, ""
	}
	if action == "Create" {
		return http.StatusOK, s.create()
	}
	s.mu.Lock()
	sh := s.shells[q.Selector]
	s.mu.Unlock()
	if sh == nil {
		return http.StatusInternalServerError, Fault("w:InvalidSelectors", "2150858843", "The shell was not found on the server.")
	}
	ok := func(inner string) (int, string) { return http.StatusOK, fmt.Sprintf(envelope, inner) }
	switch action {
	case "Delete":
		sh.end()
		s.mu.Lock()
		delete(s.shells, q.Selector)
		s.mu.Unlock()
		return ok("")
	case "Command":
		return ok(`<rsp:CommandResponse><rsp:CommandId>` + sh.command(s, q.Command) + `</rsp:CommandId></rsp:CommandResponse>`)
	}
	c := sh.find(q.Send.Command + q.Receive.Command + q.Signal.Command)
	if c == nil {
		return http.StatusInternalServerError, Fault("w:InvalidSelectors", "2150858749", "The command was not found.")
	}
	switch action {
	case "Send":
		data, err := base64.StdEncoding.DecodeString(q.Send.Data)
		if err == nil && len(data) > 0 {
			_, err = c.stdin.Write(data)
		}
		if err != nil {
			return http.StatusInternalServerError, Fault("w:InternalError", "2147942632", "The pipe is being closed.")
		}
		if q.Send.End == "true" {
			c.stdin.Close()
		}
		return ok("<rsp:SendResponse/>")
	case "Signal":
		if strings.HasSuffix(q.Signal.Code, "/terminate") {
			c.cancel()
		}
		return ok("<rsp:SignalResponse/>")
	case "Receive":
		wait, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(q.Timeout, "PT")))
		if err != nil {
			wait = time.Minute
		}
		streams, state := c.output(r.Context(), wait, s.o.Piece)
		if streams == "" && state == "" {
			return http.StatusInternalServerError, Fault("w:TimedOut", "2150858793", "The WS-Management service cannot complete the operation within the time specified in OperationTimeout.")
		}
		return ok("<rsp:ReceiveResponse>" + streams + state + "</rsp:ReceiveResponse>")
	}
	return http.StatusInternalServerError, Fault("w:ActionNotSupported", "2150858751", "no such action")
}

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return strings.ToUpper(hex.EncodeToString(b))
}

func (s *Server) create() string {
	id := newID()
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.shells[id] = &shell{ctx: ctx, end: cancel, commands: make(map[string]*command)}
	s.mu.Unlock()
	return fmt.Sprintf(envelope, `<x:ResourceCreated><a:Address>http://127.0.0.1/wsman</a:Address><a:ReferenceParameters><w:ResourceURI>http://schemas.microsoft.com/wbem/wsman/1/windows/shell/cmd</w:ResourceURI><w:SelectorSet><w:Selector Name="ShellId">`+id+
		`</w:Selector></w:SelectorSet></a:ReferenceParameters></x:ResourceCreated><rsp:Shell><rsp:ShellId>`+id+`</rsp:ShellId></rsp:Shell>`)
}

type shell struct {
	ctx context.Context
	end func()

	mu       sync.Mutex
	commands map[string]*command
}

func (sh *shell) find(id string) *command {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.commands[id]
}

// command starts a command line.
func (sh *shell) command(s *Server, line string) string {
	ctx, cancel := context.WithCancel(sh.ctx)
	pr, pw := io.Pipe()
	c := &command{stdin: pw, cancel: cancel, changed: make(chan struct{}, 1)}
	id := newID()
	sh.mu.Lock()
	sh.commands[id] = c
	sh.mu.Unlock()
	s.work.Go(func() {
		stop := context.AfterFunc(ctx, func() { pr.CloseWithError(io.ErrClosedPipe) })
		defer stop()
		defer cancel()
		code := s.o.Machine.run(ctx, line, pr, stream{c, "stdout"}, stream{c, "stderr"})
		pr.CloseWithError(io.ErrClosedPipe)
		c.mu.Lock()
		c.done, c.code = true, code
		c.mu.Unlock()
		c.note()
	})
	return id
}

// A command stores its output until a client requests it.
type command struct {
	stdin  *io.PipeWriter
	cancel func()

	changed chan struct{}
	mu      sync.Mutex
	said    []said
	done    bool
	code    int
}

type said struct {
	stream string
	data   []byte
}

func (c *command) note() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

type stream struct {
	c    *command
	name string
}

func (s stream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	s.c.said = append(s.c.said, said{s.name, append([]byte(nil), p...)})
	s.c.mu.Unlock()
	s.c.note()
	return len(p), nil
}

// maxReceive is the approximate maximum amount of output in one answer.
const maxReceive = 128 << 10

// output waits for output or the end, and returns elements of a response.
func (c *command) output(ctx context.Context, wait time.Duration, piece int) (streams, state string) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		var b strings.Builder
		n := 0
		for len(c.said) > 0 && n < maxReceive {
			first := &c.said[0]
			cut := min(piece, len(first.data))
			fmt.Fprintf(&b, `<rsp:Stream Name="%s" CommandId="x">%s</rsp:Stream>`, first.stream, base64.StdEncoding.EncodeToString(first.data[:cut]))
			n += cut
			if first.data = first.data[cut:]; len(first.data) == 0 {
				c.said = c.said[1:]
			}
		}
		done := c.done && len(c.said) == 0
		code := c.code
		c.mu.Unlock()
		if done {
			return b.String() + `<rsp:Stream Name="stdout" CommandId="x" End="true"/>`,
				`<rsp:CommandState CommandId="x" State="http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Done"><rsp:ExitCode>` + strconv.Itoa(code) + `</rsp:ExitCode></rsp:CommandState>`
		}
		if b.Len() > 0 {
			return b.String(), `<rsp:CommandState CommandId="x" State="http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Running"/>`
		}
		select {
		case <-c.changed:
		case <-timer.C:
			return "", ""
		case <-ctx.Done():
			return "", ""
		}
	}
}
