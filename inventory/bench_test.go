package inventory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/transport/all"
)

const benchTargets = 25_000

// benchInventory has 50 sites of 10 racks of 50 targets, with configuration on
// every level, a second tree of roles that names each target again, and data
// of its own for every tenth target.
func benchInventory() []byte {
	var b strings.Builder
	b.WriteString("config: {transport: ssh, ssh: {user: root, host-key-check: false}}\nvars: {tier: base}\ngroups:\n")
	n := 0
	roles := make([][]string, 20)
	for site := range 50 {
		fmt.Fprintf(&b, "- name: site%02d\n  vars: {site: %d}\n  config: {ssh: {port: %d}}\n  groups:\n", site, site, 2200+site)
		for rack := range 10 {
			fmt.Fprintf(&b, "  - name: rack%02d-%d\n    vars: {rack: %d}\n    targets:\n", site, rack, rack)
			for range benchTargets / 500 {
				name := fmt.Sprintf("node%05d.site%02d.example.com", n, site)
				fmt.Fprintf(&b, "    - name: %s\n      uri: 10.%d.%d.%d\n", name, n>>16, n>>8&255, n&255)
				if n%10 == 0 {
					fmt.Fprintf(&b, "      vars: {serial: %d}\n      config: {ssh: {user: admin%d}}\n", n, n%7)
				}
				roles[n%len(roles)] = append(roles[n%len(roles)], name)
				n++
			}
		}
	}
	for i, members := range roles {
		fmt.Fprintf(&b, "- name: role%02d\n  features: [role%02d]\n  targets:\n", i, i)
		for _, m := range members {
			fmt.Fprintf(&b, "  - %s\n", m)
		}
	}
	return []byte(b.String())
}

func benchData(b *testing.B) *ordered.Map {
	b.Helper()
	data, err := yaml.DecodeMap(benchInventory(), "iv.yaml", "inventory")
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func benchNew(b *testing.B, data *ordered.Map) *inventory.Inventory {
	b.Helper()
	inv, err := inventory.New(context.Background(), data, inventory.Options{Transports: all.Tables(all.List()), File: "iv.yaml"})
	if err != nil {
		b.Fatal(err)
	}
	return inv
}

func BenchmarkDecode(b *testing.B) {
	text := benchInventory()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := yaml.DecodeMap(text, "iv.yaml", "inventory"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	data := benchData(b)
	b.ReportAllocs()
	for b.Loop() {
		benchNew(b, data)
	}
}

func BenchmarkTargets(b *testing.B) {
	inv := benchNew(b, benchData(b))
	for _, bb := range []struct {
		name, pattern string
		want          int
	}{
		{"all", "all", benchTargets},
		{"glob", "node*5.site1?.*", benchTargets / 50},
		{"braces", "node1234{0,1,2}*", 3},
		{"group", "rack17-3", 50},
		{"one", "node12345.site24.example.com", 1},
		{"adhoc", "new.example", 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, err := inv.Targets(context.Background(), []string{bb.pattern})
				if err != nil || len(list) != bb.want {
					b.Fatalf("%d targets, %v", len(list), err)
				}
			}
		})
	}
}

// BenchmarkPrepare is the merge of all targets, and their settings.
func BenchmarkPrepare(b *testing.B) {
	data := benchData(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		inv := benchNew(b, data)
		b.StartTimer()
		for _, t := range inv.AllTargets() {
			if _, err := t.Settings(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkChange is one change to one of many targets, and reading it.
func BenchmarkChange(b *testing.B) {
	inv := benchNew(b, benchData(b))
	all := inv.AllTargets()
	if err := inv.Prepare(context.Background(), all); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	facts := ordered.Of("os", ordered.Of("name", "Debian", "release", ordered.Of("major", "13")))
	for _, bb := range []struct {
		name   string
		change func(t *inventory.Target) error
	}{
		{"var", func(t *inventory.Target) error { return t.SetVar(ctx, "v", true) }},
		{"facts", func(t *inventory.Target) error { return t.AddFacts(ctx, facts) }},
		{"config", func(t *inventory.Target) error { return t.SetConfig(ctx, []string{"ssh", "port"}, int64(22)) }},
		{"group", func(t *inventory.Target) error {
			if err := inv.AddToGroup([]*inventory.Target{t}, "role00"); err != nil {
				return err
			}
			return inv.RemoveFromGroup(t, "role00")
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				t := all[n%1000*10]
				n++
				if err := bb.change(t); err != nil {
					b.Fatal(err)
				}
				if _, err := t.Data(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWhere asks an expression about all targets, of which every one has
// collected facts; with groups that have a match, who is in these comes first.
func BenchmarkWhere(b *testing.B) {
	x := parse(b, `facts.os.family == "Debian" and "role07" in groups and not (vars.rack in [3, 4])`)
	facts := ordered.Of("os", ordered.Of("family", "Debian", "release", ordered.Of("full", "12.4")), "processors", ordered.Of("count", int64(8)))
	for _, bb := range []struct{ name, groups string }{
		{"groups of names", ""},
		{"groups with a match", "- {name: debian, match: facts.os.family == \"Debian\", vars: {pkg: apt}}\n- {name: big, match: facts.processors.count >= 16}\n"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			data, err := yaml.DecodeMap(append(benchInventory(), bb.groups...), "iv.yaml", "inventory")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				inv, err := inventory.New(context.Background(), data, inventory.Options{Transports: all.Tables(all.List()),
					CachedFacts: func(context.Context, string, []string) (*ordered.Map, error) { return facts, nil },
				})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				found, unknown, err := inv.Where(context.Background(), x, inv.AllTargets())
				if err != nil || len(found) != 1000 || len(unknown) != 0 {
					b.Fatal(len(found), len(unknown), err)
				}
			}
		})
	}
}
