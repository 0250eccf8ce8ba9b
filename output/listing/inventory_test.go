package listing

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/output/layout"
)

func detail(name string) *ordered.Map {
	return ordered.Of("name", name, "uri", nil, "alias", []any{}, "config", ordered.Of("transport", "ssh", "ssh", ordered.Of("port", int64(22))),
		"vars", &ordered.Map{}, "groups", []any{"web", "all"})
}

func TestPrintInventory(t *testing.T) {
	known := []InventoryTarget{{Name: "l2"}, {Name: "l1"}}
	mixed := []InventoryTarget{{Name: "10.9.8.7", Adhoc: true}, {Name: "l2"}, {Name: "ssh://x.example:2200", Adhoc: true}}
	details := []InventoryTarget{{Name: "l2", Data: detail("l2")}, {Name: "adhoc", Adhoc: true, Data: detail("adhoc")}}
	secret := []InventoryTarget{
		{Name: "u:geheim@h", Data: ordered.Of("name", "u:geheim@h", "uri", "u:geheim@h")},
		{Name: "named", Data: ordered.Of("name", "named", "uri", "ssh://u:geheim@h3")},
		{Name: "ssh://u:geheim@h2", Adhoc: true, Data: ordered.Of("name", "ssh://u:geheim@h2", "uri", "ssh://u:geheim@h2")},
	}
	const source = "\nInventory source\n  /p/inventory.yaml\n\n"
	tests := []struct {
		name string
		o    Options
		inv  Inventory
		want string
	}{
		{
			"names", Options{}, Inventory{Targets: known, Source: "/p/inventory.yaml", Hint: true, All: true},
			"Targets\n  l2\n  l1\n" + source + "Target count\n  2 total, 2 from inventory, 0 adhoc\n\nAdditional information\n" +
				"  Choose targets with '--targets' or '--rerun'\n  Add '--detail' to see their configuration and data\n",
		},
		{
			"adhoc", Options{}, Inventory{Targets: mixed, Source: "/p/inventory.yaml", Hint: true},
			"Targets\n  l2\n  10.9.8.7                (Not found in inventory file)\n  ssh://x.example:2200    (Not found in inventory file)\n" + source +
				"Target count\n  3 total, 1 from inventory, 2 adhoc\n\nAdditional information\n  Add '--detail' to see their configuration and data\n",
		},
		{
			"colour", Options{Color: true}, Inventory{Targets: mixed[:1], Source: "/p/i", Hint: true},
			"\x1b[36mTargets\x1b[0m\n  10.9.8.7    \x1b[33m(Not found in inventory file)\x1b[0m\n\n\x1b[36mInventory source\x1b[0m\n  /p/i\n\n" +
				"\x1b[36mTarget count\x1b[0m\n  1 total, 0 from inventory, 1 adhoc\n\n\x1b[36mAdditional information\x1b[0m\n" +
				"  Add '--detail' to see their configuration and data\n",
		},
		{
			"none, no file", Options{}, Inventory{Default: "/p/inventory.yaml", Hint: true},
			"Targets\n  No targets\n\nInventory source\n  None: /p/inventory.yaml does not exist\n\nTarget count\n  0 total, 0 from inventory, 0 adhoc\n\n" +
				"Additional information\n  Add '--detail' to see their configuration and data\n",
		},
		{
			"details", Options{}, Inventory{Targets: details, Source: "/p/inventory.yaml", Detail: true},
			`adhoc (Not found in inventory file)
  name: adhoc
  uri:
  alias: []
  config:
    transport: ssh
    ssh:
      port: 22
  vars: {}
  groups:
  - web
  - all

l2
  name: l2
  uri:
  alias: []
  config:
    transport: ssh
    ssh:
      port: 22
  vars: {}
  groups:
  - web
  - all
` + source + "Target count\n  2 total, 1 from inventory, 1 adhoc\n",
		},
		{
			"passwords", Options{}, Inventory{Targets: secret, Source: "/p/inventory.yaml"},
			"Targets\n  u@h\n  named\n  ssh://u@h2    (Not found in inventory file)\n" + source + "Target count\n  3 total, 2 from inventory, 1 adhoc\n",
		},
		{
			"passwords, details", Options{}, Inventory{Targets: secret, Source: "/p/inventory.yaml", Detail: true},
			"named\n  name: named\n  uri: ssh://u@h3\n\nssh://u@h2 (Not found in inventory file)\n  name: ssh://u@h2\n  uri: ssh://u@h2\n\n" +
				"u@h\n  name: u@h\n  uri: u@h\n" + source + "Target count\n  3 total, 2 from inventory, 1 adhoc\n",
		},
		{
			"json, identifiers stay", Options{Format: layout.JSON}, Inventory{Targets: secret[:1], Source: "/p/i", Default: "/p/i", Detail: true},
			`{"adhoc":{"count":0,"targets":[]},"inventory":{"count":1,"targets":[{"name":"u:geheim@h","uri":"u:geheim@h"}],"file":"/p/i","default":"/p/i"},` +
				`"targets":[{"name":"u:geheim@h","uri":"u:geheim@h"}],"count":1}` + "\n",
		},
		{
			"json", Options{Format: layout.JSON}, Inventory{Targets: mixed, Source: "/p/inventory.yaml", Default: "/q/inventory.yaml"},
			`{"adhoc":{"count":2,"targets":["10.9.8.7","ssh://x.example:2200"]},"inventory":{"count":1,"targets":["l2"],"file":"/p/inventory.yaml","default":"/q/inventory.yaml"},` +
				`"targets":["l2","10.9.8.7","ssh://x.example:2200"],"count":3}` + "\n",
		},
		{
			"json, none", Options{Format: layout.JSON}, Inventory{Default: "/p/i"},
			`{"adhoc":{"count":0,"targets":[]},"inventory":{"count":0,"targets":[],"file":null,"default":"/p/i"},"targets":[],"count":0}` + "\n",
		},
		{
			"json details", Options{Format: layout.NDJSON}, Inventory{Targets: details[:1], Source: "/p/i", Default: "/p/i", Detail: true},
			`{"adhoc":{"count":0,"targets":[]},"inventory":{"count":1,"targets":[{"name":"l2","uri":null,"alias":[],"config":{"transport":"ssh","ssh":{"port":22}},"vars":{},"groups":["web","all"]}],` +
				`"file":"/p/i","default":"/p/i"},"targets":[{"name":"l2","uri":null,"alias":[],"config":{"transport":"ssh","ssh":{"port":22}},"vars":{},"groups":["web","all"]}],"count":1}` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := PrintInventory(&b, tt.o, &tt.inv); err != nil {
				t.Fatal(err)
			}
			equal(t, b.String(), tt.want)
		})
	}
}

func TestPrintGroups(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		g    Groups
		want string
	}{
		{"human", Options{}, Groups{Names: []string{"all", "db"}, Source: "/p/i"}, "Groups\n  all\n  db\n\nInventory source\n  /p/i\n\nGroup count\n  2 total\n"},
		{"json", Options{Format: layout.JSON}, Groups{Names: []string{"all", "db"}}, `{"count":2,"groups":["all","db"]}` + "\n"},
		{"json, none", Options{Format: layout.JSON}, Groups{}, `{"count":0,"groups":[]}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := PrintGroups(&b, tt.o, &tt.g); err != nil {
				t.Fatal(err)
			}
			equal(t, b.String(), tt.want)
		})
	}
}

func TestPrintReturnsWriteErrors(t *testing.T) {
	if err := PrintInventory(brokenPipe{}, Options{}, &Inventory{}); err == nil {
		t.Error("PrintInventory: no error")
	}
	if err := PrintGroups(brokenPipe{}, Options{Format: layout.JSON}, &Groups{}); err == nil {
		t.Error("PrintGroups: no error")
	}
}

// brokenPipe is a writer whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", strings.ReplaceAll(got, "\x1b", "␛"), strings.ReplaceAll(want, "\x1b", "␛"))
	}
}
