package puppetcompiler

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/puppetdb/server"
)

// kind is the kind of errors of the connection and the settings.
const kind = "bolt/puppetserver-error"

// maxAnswer is the maximum size of an answer. A catalog of 10,000 resources has 4 MB.
const maxAnswer = 256 << 20

// A Server compiles with a Puppet Server.
type Server struct {
	client      *server.Client
	environment string
	prefer      bool
	max         int64 // bytes of an answer
}

// ServerOptions describe how a Puppet Server compiles.
type ServerOptions struct {
	server.Settings
	// Environment is the environment of nodes that name none. If Prefer is set, it
	// overrides the environment that the classifier of the server assigns to a node.
	Environment string
	Prefer      bool
}

// NewServer returns a compiler that uses a Puppet Server. It does not connect yet.
func NewServer(ctx context.Context, o ServerOptions) (*Server, error) {
	s := server.Service{
		Name: "Puppet Server", Label: "Puppet Server", Section: "puppetserver", Kind: kind,
		Example: "https://puppet.example.com:8140", Port: "8140", ReadTimeout: 5 * time.Minute,
		Page:    "docs/catalogs.md",
		Slow:    "the setting read_timeout limits the time that Puppet Server may take for a catalog",
		Refused: "the file auth.conf of Puppet Server must allow the certificate or the token to use /puppet/v4/catalog",
	}
	options, err := s.Read(ctx, o.Settings)
	if err != nil {
		return nil, err
	}
	c, err := server.New(ctx, s, options)
	if err != nil {
		return nil, err
	}
	return &Server{client: c, environment: o.Environment, prefer: o.Prefer, max: maxAnswer}, nil
}

// Close closes the idle connections.
func (s *Server) Close() { s.client.Close() }

// answer is the answer of the catalog API, version 4.
type answer struct {
	Catalog json.RawMessage
	Logs    []struct {
		Level, Message, Source string
		File                   string
		Line                   int
	}
}

// Compile requests the catalog of a node from the server. If a node has no facts, the
// server uses its facts in PuppetDB. Compile stores nothing in PuppetDB.
func (s *Server) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	body, err := s.request(n)
	if err != nil {
		return nil, fault.New(kind, "The facts of %s cannot be sent: %v", n.Name, err)
	}
	var got answer
	err = s.client.Do(ctx, &server.Request{
		Path: "/puppet/v4/catalog", Body: body, Safe: true,
		Answer: func(r io.Reader) error { return s.read(r, &got) },
		Refused: func(status int, said string) error {
			if status == http.StatusInternalServerError && said != "" {
				return server.Own(failure(n.Name, preamble().ReplaceAllString(said, "")))
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	if n.Log != nil {
		for _, l := range got.Logs {
			m := message(l.Level, l.Source, l.Message)
			m.Level = min(m.Level, eval.Warning)
			m.Pos.File, m.Pos.Line = l.File, l.Line
			n.Log(m)
		}
	}
	c, err := catalog.Parse(got.Catalog)
	if err != nil {
		return nil, fault.New(kind, "The answer of Puppet Server is not a catalog: %v", err)
	}
	return &compile.Result{Catalog: c}, nil
}

// preamble matches the text that Puppet Server and its Ruby put before a message.
var preamble = lazyregexp.New(`^Internal Server Error: (?:[\w.$]+: )?(?:\([\w:]+\) )?`)

// request returns the body of a request. The server accepts the log levels debug, info,
// warning and err; info is the first that includes notices.
func (s *Server) request(n site.Node) ([]byte, error) {
	env := n.Environment
	if env == "" {
		env = s.environment
	}
	m := ordered.Of("certname", n.Name, "environment", env,
		"persistence", ordered.Of("facts", false, "catalog", false),
		"options", ordered.Of("prefer_requested_environment", s.prefer, "capture_logs", true, "log_level", "info"))
	if n.Facts.Len() > 0 {
		node := environment.Certified(n.Name, n.Facts, value.NewHash())
		given, err := facts(node.Facts)
		if err != nil {
			return nil, err
		}
		trusted, err := facts(node.Trusted)
		if err != nil {
			return nil, err
		}
		m.Set("facts", ordered.Of("values", given))
		m.Set("trusted_facts", ordered.Of("values", trusted))
	}
	return m.MarshalJSON()
}

// read reads an answer of at most s.max bytes.
func (s *Server) read(r io.Reader, into *answer) error {
	text, err := io.ReadAll(io.LimitReader(r, s.max+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &server.Failure{Err: errors.New("the connection ended before all of the answer had come"), Next: true}
	case err != nil:
		return &server.Failure{Err: err, Next: true}
	case int64(len(text)) > s.max:
		return server.Failed("the answer is larger than %d MiB", s.max>>20)
	}
	*into = answer{}
	if err := json.Unmarshal(text, into); err != nil {
		return server.Failed("the answer is not the JSON of a catalog: %w", err)
	}
	if len(into.Catalog) == 0 {
		return server.Failed("the answer has no catalog")
	}
	return nil
}
