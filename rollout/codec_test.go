package rollout

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/rollout/strategy"
)

// TestCodec: each type of event survives JSON, and the key "type" is first.
func TestCodec(t *testing.T) {
	for _, name := range eventNames(t) {
		e := newEvent(name)
		if e == nil || e.Type() != name {
			t.Errorf("the event %s is not known to the decoder", name)
			continue
		}
		fill(reflect.ValueOf(e).Elem())
		if c, ok := e.(*Created); ok {
			c.Strategy = read(t, "strata: facts.zone")
		}
		if c, ok := e.(*Edited); ok {
			c.Strategy = read(t, "strata: facts.zone")
		}
		data, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, []byte(`{"type":"`+name+`"`)) {
			t.Errorf("%s is written as %s", name, data)
		}
		back, err := Decode(data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		// The order of keys does not matter.
		moved := []byte("{" + strings.TrimSuffix(strings.TrimPrefix(string(data), `{"type":"`+name+`",`), "}") + `,"type":"` + name + `"}`)
		if len(data) > len(name)+12 {
			if back, err := Decode(moved); err != nil || !cmp.Equal(e, back) {
				t.Errorf("%s with its type at the end: %v", name, err)
			}
		}
	}
}

// eventNames returns the types of events. They are those of the decoder and of the reference.
func eventNames(t *testing.T) []string {
	t.Helper()
	code, err := os.ReadFile("codec.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/rollout-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^\tcase "([a-z_]+)":$`).FindAllSubmatch(code, -1) {
		list = append(list, string(m[1]))
		if !bytes.Contains(page, []byte("`"+string(m[1])+"`")) {
			t.Errorf("the reference does not name the event %s", m[1])
		}
	}
	if len(list) < 30 {
		t.Fatalf("found only the events %v", list)
	}
	return list
}

// fill sets the fields of an event that have simple types.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text <&>")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Uint64:
			f.SetUint(7)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			if f.Type() == reflect.TypeFor[time.Time]() {
				f.Set(reflect.ValueOf(time.Date(2026, 9, 1, 10, 0, 0, 5, time.UTC)))
			}
		}
	}
}

// slow checks that encoding/json reads the same event.
func slow(t *testing.T, data []byte, want Event) {
	t.Helper()
	_, rest, err := split(data)
	if err != nil {
		t.Fatal(err)
	}
	e := newEvent(want.Type())
	dec := json.NewDecoder(strings.NewReader("{" + string(rest)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil || !reflect.DeepEqual(e, want) {
		t.Fatalf("encoding/json reads %s as %+v, %v, and Decode as %+v", data, e, err, want)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"type":"upgraded"}`, `unknown event "upgraded": it may be of a newer version of bolt`},
		{`{"type":"paused","why":"","colour":1}`, `unknown field "colour"`},
		{`{"type":"paused"} {}`, `there is text after it`},
		{`{"type":"paused"}x`, `event paused`},
		{`{"by":"ann"}`, `the key type is missing`},
		{`[]`, `event: `},
		{``, `event: `},
		{`{"type":"paused",}`, `event: `},
	} {
		if _, err := Decode([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestFastCreated checks that the fast reader reads the same event as encoding/json, or leaves it.
func TestFastCreated(t *testing.T) {
	c := create(t, read(t, "strategy: {waves: [{count: 1}, {rest: true}]}"), []Node{
		{Name: "a", Release: "r2", Catalog: "c1", Previous: "r1", PreviousCatalog: "c1"},
		{Name: "b", Release: "r2", Catalog: "c2", Unhealthy: true, Uncertain: true}, {Name: "c"},
	})
	for name, change := range map[string]func(c *Created){
		"flat":     func(*Created) {},
		"no nodes": func(c *Created) { c.Nodes = nil },
		"facts":    func(c *Created) { c.Nodes[1].Facts = map[strategy.Fact]string{"facts.zone": "a"} },
		"steps":    func(c *Created) { c.Nodes[2].Steps = []int{1} },
		"escape":   func(c *Created) { c.Nodes[0].Name = "a\"b" },
		"brace":    func(c *Created) { c.Nodes[0].Name = "a}b" },
		"strata":   func(c *Created) { c.Waves[0].Stratum = "x" },
		"parameters": func(c *Created) {
			c.Strategy.Action.Params = map[string]any{"a": "b", "nodes": []any{map[string]any{"name": "x"}}}
		},
		"parameters, no nodes": func(c *Created) {
			c.Nodes = nil
			c.Strategy.Action.Params = map[string]any{"a": "b", "nodes": []any{map[string]any{"name": "x"}}}
		},
		"no digest": func(c *Created) { c.StrategyDigest = "" },
	} {
		own := *c
		own.Nodes, own.Waves = slices.Clone(c.Nodes), slices.Clone(c.Waves)
		change(&own)
		data, err := Encode(&own)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slow(t, data, e)
		if name == "flat" && fast("created", data[len(`{"type":"created",`):]) == nil {
			t.Error("the nodes are not read by the fast reader")
		}
		for _, broken := range []string{strings.Replace(string(data), `"nodes":[{`, `"nodes":[{"x":1,`, 1), string(data[:len(data)-1]), string(data) + "x", strings.Replace(string(data), `}],"waves"`, `}}],"waves"`, 1)} {
			if _, err := Decode([]byte(broken)); err == nil && len(own.Nodes) > 0 && name != "parameters" {
				t.Errorf("%s: no error for %s", name, broken)
			}
		}
	}
}

// FuzzEvents: no log is a panic or a step without end, and an event that is refused changes nothing.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{"strategy: {waves: [{count: 1, soak: 1m}, {rest: true}]}", "gates: [{name: a, at: [node, wave, background], command: x}]\nhooks: {before_node: a}\nstrategy: {on_failure: rollback}"} {
		s := newSim(f, create(f, read(f, text), nodes(3, rand.New(rand.NewPCG(1, 1)))), newFleet(1, rates{failed: 0.3}), true)
		s.drive()
		f.Add(bytes.Join(s.log, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		s := &State{}
		now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
		for line := range bytes.SplitSeq(log, []byte("\n")) {
			e, err := Decode(line)
			if err != nil {
				continue
			}
			if data, err := Encode(e); err != nil {
				t.Fatal(err)
			} else if back, err := Decode(data); err != nil || !reflect.DeepEqual(e, back) && e.Type() != "created" && e.Type() != "edited" {
				t.Fatalf("%v\n%s\n%+v\n%+v", err, data, e, back)
			}
			slow(t, line, e)
			now = now.Add(time.Second)
			before := s.revision
			if err := s.Apply(Record{Revision: before + 1, Time: now, Event: e}); err != nil && s.revision != before {
				t.Fatalf("a refused event changes the revision: %v", err)
			}
			for range 3 {
				due, _ := Step(s, now)
				for _, e := range due {
					if err := s.Apply(Record{Revision: s.revision + 1, Time: now, Event: e}); err != nil {
						t.Fatalf("Step decides what is not possible: %v", err)
					}
				}
			}
			s.Status()
			s.Outstanding()
		}
	})
}
