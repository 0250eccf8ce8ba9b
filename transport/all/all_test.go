package all_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
	"bolt/transport/all"
	"bolt/transport/nativessh"
	"bolt/transport/option"
	"bolt/transport/ssh"
)

// A parrot is a transport as in a separate package: a table of options and a
// dialer.
type parrot struct{ heard *[]string }

// phrase is the value of a destination's Options for it.
type phrase struct {
	greeting string
	loud     bool
}

func parrotTransport() option.Transport {
	return option.Transport{
		Name:      "parrot",
		NeedsHost: true,
		Options:   option.Sorted(option.Cleanup(), option.Text("greeting"), option.Host(), option.Flag("loud"), option.Secret("magic-word")),
		Defaults:  ordered.Of("cleanup", true, "greeting", "hello"),
		Check: func(c *option.Config) error {
			if c.Text("greeting") == "" {
				return c.Fail("greeting must not be empty")
			}
			return nil
		},
		Dest: func(config option.Values, to *transport.Dest) {
			to.Options = phrase{config.Text("greeting"), config.Flag("loud")}
		},
	}
}

// Dial implements transport.Dialer.
func (p parrot) Dial(_ context.Context, to transport.Dest) (transport.Conn, error) {
	return perch{p, to}, nil
}

// A perch is a connection.
type perch struct {
	parrot
	to transport.Dest
}

func (p perch) Run(_ context.Context, c *transport.Cmd) (transport.Status, error) {
	said := p.to.Options.(phrase)
	line := fmt.Sprintf("%s %s: %s", said.greeting, p.to.Host, c.Line)
	if said.loud {
		line = strings.ToUpper(line)
	}
	*p.heard = append(*p.heard, line)
	return transport.Status{}, nil
}

func (perch) Put(context.Context, transport.Tree, string, transport.FileOptions) error { return nil }
func (perch) Get(context.Context, string, string, transport.FileOptions) error         { return nil }
func (perch) Close() error                                                             { return nil }

// TestNewTransport checks that a transport that is added to the list can be
// configured in an inventory, also with its own options, and that commands run
// on its targets. No other package knows it.
func TestNewTransport(t *testing.T) {
	var heard []string
	list := append(all.List(), all.Entry{
		Transport: parrotTransport(),
		Dialer:    func(all.Options) (transport.Dialer, error) { return parrot{&heard}, nil },
	})
	load := func(text string) *inventory.Inventory {
		t.Helper()
		data, err := ordered.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		inv, err := inventory.New(t.Context(), data.(*ordered.Map), inventory.Options{File: "inventory.yaml", Transports: all.Tables(list)})
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	targets := func(inv *inventory.Inventory, names ...string) []*inventory.Target {
		t.Helper()
		found, err := inv.Targets(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	inv := load(`{"config": {"parrot": {"loud": true, "magic-word": "please"}}, "targets": [
		{"uri": "parrot://cage"}, {"name": "tree", "config": {"transport": "parrot", "parrot": {"host": "oak", "loud": false, "greeting": "ahoy"}}}]}`)
	found := targets(inv, "parrot://cage", "tree")
	for i, want := range []string{
		`{"cleanup":true,"greeting":"hello","loud":true,"magic-word":"[redacted]"}`,
		`{"cleanup":true,"greeting":"ahoy","host":"oak","loud":false,"magic-word":"[redacted]"}`,
	} {
		data, err := found[i].Data(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := data.Config.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", found[i], got, err, want)
		}
	}

	dialer, err := all.New(list, all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dialer.Close()
	done := 0
	err = run.New(dialer, run.Options{Concurrency: 1}).Run(t.Context(), &run.Command{Line: "walk"}, found, event.Func(func(_ context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			if done++; !end.Result.OK() {
				t.Errorf("%s: %v", end.Result.Target, end.Result.Err)
			}
		}
		return nil
	}))
	if err != nil {
		t.Error(err)
	}
	if want := []string{"HELLO CAGE: WALK", "ahoy oak: walk"}; done != 2 || !slices.Equal(heard, want) {
		t.Errorf("%d are done, and heard is %q, want %q", done, heard, want)
	}

	for config, want := range map[string]string{
		`{"greeting": ""}`: "parrot configuration of target parrot://cage",
		`{"loud": "very"}`: "Value at 'config.parrot.loud' must be of type Boolean",
	} {
		data, err := ordered.ParseJSON([]byte(`{"config": {"parrot": ` + config + `}, "targets": ["parrot://cage"]}`))
		if err != nil {
			t.Fatal(err)
		}
		inv, err := inventory.New(t.Context(), data.(*ordered.Map), inventory.Options{File: "inventory.yaml", Transports: all.Tables(list)})
		if err == nil {
			_, err = targets(inv, "all")[0].Data(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}

	_, err = targets(load(`{"config": {"parrot": {"host": ""}}, "targets": [{"name": "lost", "config": {"transport": "parrot"}}]}`), "lost")[0].Settings(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not have a host") {
		t.Errorf("without a host: %v", err)
	}
}

// TestList checks the list: each name occurs once, variants belong to existing
// transports, and the Options of each destination are comparable.
func TestList(t *testing.T) {
	list := all.List()
	names := make(map[string]bool)
	for _, e := range list {
		if names[e.Name] {
			t.Errorf("%s is there twice", e.Name)
		}
		names[e.Name] = true
		options := make(map[string]bool)
		for _, o := range e.Options {
			if options[o.Name] || o.Schema == nil {
				t.Errorf("%s: the option %s is there twice, or has no schema", e.Name, o.Name)
			}
			options[o.Name] = true
		}
		for name := range e.Defaults.All() {
			if !options[name] {
				t.Errorf("%s: the default %s is not an option", e.Name, name)
			}
		}
		var a, b transport.Dest
		if e.Dest != nil {
			e.Dest(option.Values{Map: e.Defaults}, &a)
			e.Dest(option.Values{Map: e.Defaults}, &b)
		}
		if a != b {
			t.Errorf("%s: %+v is not %+v", e.Name, a, b)
		}
	}
	for _, e := range list {
		if e.VariantOf != "" && !names[e.VariantOf] {
			t.Errorf("%s is a variant of %s, which is not there", e.Name, e.VariantOf)
		}
	}
}

func TestProtocols(t *testing.T) {
	d, err := all.New(all.List(), all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Dial(t.Context(), transport.Dest{Protocol: "pigeon"})
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || e.Class != transport.ClassUnsupported {
		t.Fatalf("an unknown protocol gives %v", err)
	}
	for _, protocol := range []string{ssh.Protocol, nativessh.Protocol, "winrm", "local", "docker", "podman"} {
		if !strings.Contains(e.Hint, protocol) {
			t.Errorf("%q is not among the protocols: %s", protocol, e.Hint)
		}
	}
}

// refusing is a dialer that always returns an error.
type refusing struct{ err error }

func (r refusing) Dial(context.Context, transport.Dest) (transport.Conn, error) { return nil, r.err }
func (r refusing) Close() error                                                 { return r.err }

func TestThrough(t *testing.T) {
	d, err := all.New(all.List(), all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mark := errors.New("through the pool")
	d.Through(func(direct transport.Dialer) transport.DialCloser {
		if direct == nil {
			t.Error("there is no direct dialer")
		}
		return refusing{mark}
	})
	if _, err := d.Dial(t.Context(), transport.Dest{Protocol: ssh.Protocol}); !errors.Is(err, mark) {
		t.Errorf("ssh was dialed with %v, want %v", err, mark)
	}
	if err := d.Close(); !errors.Is(err, mark) {
		t.Errorf("closed with %v: the dialer around ssh is not closed", err)
	}
}
