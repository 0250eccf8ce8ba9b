// Command puppetdb measures inventories whose targets are the nodes of a real
// PuppetDB: bolt inventory show as a whole process, for different amounts of
// facts.
//
// scripts/puppetdb.sh starts the PuppetDB. One node's facts are sent to it as
// a command. The others are copies of it in its database, each with its own
// address, because PuppetDB takes minutes to store so many.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bolt/bench/measure"
	"bolt/format/ordered"
	"bolt/internal/freeport"
	"bolt/puppetdb"
)

func main() {
	o := options{}
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to measure")
	flag.StringVar(&o.script, "script", "scripts/puppetdb.sh", "`program` that starts a PuppetDB")
	flag.IntVar(&o.nodes, "nodes", 25_000, "`nodes` that it knows")
	flag.IntVar(&o.runs, "runs", 3, "`runs` of each")
	flag.StringVar(&o.markdown, "markdown", "", "write the table into this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.bench(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "puppetdb:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt, script, markdown string
	nodes, runs            int
}

// A scene is an inventory.
type scene struct {
	name    string
	targets int
	text    string
}

func (o *options) scenes() []scene {
	reference := func(query, mapping string) string {
		return fmt.Sprintf("groups:\n- name: nodes\n  targets:\n  - _plugin: puppetdb\n    query: '%s { certname ~ \"^node%%s\" }'\n    target_mapping: %s\n", query, mapping)
	}
	const two = "{name: certname, config: {ssh: {host: facts.networking.ip}}, vars: {os: facts.os.name}}"
	few := min(1000, o.nodes)
	var written strings.Builder
	written.WriteString("groups:\n- name: nodes\n  targets:\n")
	for i := range o.nodes {
		fmt.Fprintf(&written, "  - {name: %s, config: {ssh: {host: %s}}, vars: {os: Debian}}\n", certname(i), address(i))
	}
	return []scene{
		{"names alone", o.nodes, fmt.Sprintf(reference("nodes[certname]", "{name: certname}"), "")},
		{"two facts of each", o.nodes, fmt.Sprintf(reference("nodes[certname]", two), "")},
		{"two facts, in the query", o.nodes, fmt.Sprintf(reference("inventory[certname, facts.networking.ip, facts.os.name]", two), "")},
		{"two facts of each of a part", few, fmt.Sprintf(reference("nodes[certname]", two), "00")},
		{"all facts of a part", few, fmt.Sprintf(reference("nodes[certname]", "{name: certname, facts: facts}"), "00")},
		{"the same with two facts in YAML, without PuppetDB", o.nodes, written.String()},
	}
}

// certname and address return the name and the address of a node.
func certname(i int) string { return fmt.Sprintf("node%05d.example.com", i) }
func address(i int) string  { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }

func (o *options) bench(ctx context.Context, w io.Writer) (err error) {
	if o.bolt, err = filepath.Abs(o.bolt); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	place, err := os.MkdirTemp("", "pdb") // the path of PostgreSQL's socket must be short
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()
	db, err := start(ctx, o.script, place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	size, err := db.fill(ctx, o.nodes)
	if err != nil {
		return err
	}
	settings, err := ordered.Of("server_urls", []any{db.client.ServerURLs[0]}, "cacert", db.client.CACert, "cert", db.client.Cert, "key", db.client.Key).MarshalJSON()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "bolt-project.yaml"), fmt.Appendf(nil, "name: nodes\npuppetdb: %s\n", settings), 0o600); err != nil {
		return err
	}
	scenes := o.scenes()
	samples := make([][]measure.Sample, len(scenes))
	for i, s := range scenes {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(s.text), 0o600); err != nil {
			return err
		}
	}
	for run := range o.runs + 1 { // the first run is not counted, because PuppetDB's own code is slow at first
		for i := range scenes {
			s, err := measure.Run(ctx, measure.Program{Env: []string{"HOME=" + dir}, Dir: dir,
				Argv: []string{o.bolt, "inventory", "show", "--targets", "nodes", "--format", "json", "--project", dir, "-i", fmt.Sprintf("%d.yaml", i)}})
			if err != nil {
				return err
			}
			if run > 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %d nodes, each with facts of %.1f KB as JSON, %d runs each\n\n", o.nodes, float64(size)/1e3, o.runs)
	var rows [][]string
	for i, s := range scenes {
		m := measure.Median(samples[i])
		rows = append(rows, []string{s.name, fmt.Sprint(s.targets), fmt.Sprintf("%.0f", m.Wall.Seconds()*1e3), fmt.Sprintf("%.0f", m.CPU.Seconds()*1e3), fmt.Sprintf("%.0f", float64(m.MaxRSS)/(1<<20))})
	}
	if err := measure.Markdown(&text, 1, []string{"inventory", "targets", "wall ms", "CPU ms", "peak MiB"}, rows); err != nil {
		return err
	}
	text.WriteString("\n" + measure.Machine(ctx) + "\n")
	if _, err := io.WriteString(w, text.String()); err != nil || o.markdown == "" {
		return err
	}
	return measure.Replace(o.markdown, "puppetdb", text.String())
}

// A database is a PuppetDB that runs.
type database struct {
	dir, sql string // its directory, the port of PostgreSQL
	client   puppetdb.Options
	cmd      *exec.Cmd
	life     io.Closer // the script stops at the end of this
}

func start(ctx context.Context, script, dir string) (*database, error) {
	ports, err := freeport.Find(3)
	if err != nil {
		return nil, err
	}
	ssl := func(name string) string { return filepath.Join(dir, "ssl", name) }
	d := &database{dir: dir, sql: ports[2], cmd: exec.CommandContext(ctx, script, append([]string{"serve", dir}, ports...)...), client: puppetdb.Options{
		ServerURLs: []string{"https://localhost:" + ports[1]}, CACert: ssl("ca.pem"), Cert: ssl("client.pem"), Key: ssl("client.key")}}
	d.cmd.Stderr = os.Stderr
	d.cmd.Cancel = func() error { return d.life.Close() }
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.life, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make([]byte, len("ready"))
	if _, err := io.ReadFull(out, ready); err != nil {
		return nil, errors.Join(err, d.cmd.Wait())
	}
	return d, nil
}

func (d *database) stop() error {
	return errors.Join(d.life.Close(), d.cmd.Wait())
}

// fill adds nodes to PuppetDB, and returns the size of the facts of each.
func (d *database) fill(ctx context.Context, nodes int) (size int, err error) {
	client, err := puppetdb.New(ctx, d.client)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	values := facts()
	text, err := values.MarshalJSON()
	if err != nil {
		return 0, err
	}
	done, err := client.Submit(ctx, puppetdb.Command{Name: "replace_facts", Version: 5, Wait: 5 * time.Minute, Payload: ordered.Of("certname", "pattern",
		"environment", "production", "producer", "bench", "producer_timestamp", "2026-11-20T12:00:00.000Z", "values", values)})
	if err == nil && !done.Processed {
		err = errors.New("PuppetDB has not stored a node")
	}
	if err != nil {
		return 0, err
	}
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(programs) == 0 {
		return 0, errors.New("psql is not in PATH: install postgresql")
	}
	cmd := exec.CommandContext(ctx, programs[len(programs)-1], "-h", filepath.Join(d.dir, "run"), "-p", d.sql, "-U", "postgres", "-d", "puppetdb", "-X", "-q", "-v", "ON_ERROR_STOP=1")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(copies, nodes-1))
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("psql: %w: %s", err, out)
	}
	return len(text), nil
}

// copies makes nodes with the facts of one node. PuppetDB detects changes by
// the hashes, which only need to differ.
const copies = `begin;
create temporary table n as select i, 'node' || lpad(i::text, 5, '0') || '.example.com' as name from generate_series(0, %d) i;
insert into certnames (certname) select name from n;
insert into factsets (certname, timestamp, environment_id, hash, producer_timestamp, producer_id, paths_hash, stable, stable_hash, volatile)
  select name, timestamp, environment_id, sha1.h, producer_timestamp, producer_id, paths_hash,
    jsonb_set(stable, '{networking,ip}', to_jsonb('10.' || i / 65536 || '.' || i / 256 %% 256 || '.' || i %% 256)), stable_hash, volatile
  from factsets, n, lateral (select substring(sha256(name::bytea) for 20) as h) sha1 where certname = 'pattern';
delete from factsets where certname = 'pattern';
delete from certnames where certname = 'pattern';
commit;
analyze;
`

// facts returns about as many facts as those of an ordinary machine.
func facts() *ordered.Map {
	interfaces, mounts := &ordered.Map{}, &ordered.Map{}
	for i := range 4 {
		ip := fmt.Sprintf("10.0.%d.1", i)
		interfaces.Set(fmt.Sprintf("eth%d", i), ordered.Of("ip", ip, "mac", fmt.Sprintf("aa:bb:cc:dd:ee:%02x", i), "mtu", int64(1500),
			"bindings", []any{ordered.Of("address", ip, "netmask", "255.255.255.0", "network", fmt.Sprintf("10.0.%d.0", i))}))
	}
	for i := range 15 {
		mounts.Set(fmt.Sprintf("/mnt/%d", i), ordered.Of("device", fmt.Sprintf("/dev/sd%c", 'a'+i), "filesystem", "ext4", "size_bytes", int64(i)<<32, "options", []any{"rw", "relatime"}))
	}
	f := ordered.Of("os", ordered.Of("name", "Debian", "family", "Debian", "release", ordered.Of("full", "12.5", "major", "12", "minor", "5")),
		"networking", ordered.Of("ip", "10.0.0.1", "hostname", "node", "interfaces", interfaces), "mountpoints", mounts,
		"processors", ordered.Of("count", int64(4), "isa", "x86_64", "models", []any{"Xeon", "Xeon", "Xeon", "Xeon"}),
		"memory", ordered.Of("system", ordered.Of("total_bytes", int64(8)<<30, "used", "1.00 GiB")), "kernel", "Linux", "virtual", "kvm")
	for _, kind := range []string{"dsa", "ecdsa", "ed25519", "rsa"} {
		f.Set("ssh"+kind+"key", strings.Repeat("AAAAB3NzaC1yc2EAAAADAQ", 12))
	}
	for i := range 60 {
		f.Set(fmt.Sprintf("custom_%02d", i), fmt.Sprintf("the value of a custom fact, number %d", i))
	}
	return f
}
