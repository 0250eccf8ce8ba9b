package factcache

import (
	"fmt"
	"testing"
	"time"

	"bolt/format/ordered"
)

// facterLike are facts as facter 4 tells them of a server, with those of older
// versions: about 30 KiB of JSON in 250 facts.
func facterLike(n int) *ordered.Map {
	f := ordered.Of(
		"os", ordered.Of("name", "Debian", "family", []string{"Debian", "RedHat"}[n%2], "architecture", "amd64",
			"release", ordered.Of("full", "12.7", "major", "12", "minor", "7"),
			"distro", ordered.Of("codename", "bookworm", "description", "Debian GNU/Linux 12 (bookworm)", "id", "Debian")),
		"kernel", "Linux", "kernelrelease", "6.1.0-25-amd64", "virtual", "kvm", "is_virtual", true,
		"memory", ordered.Of("system", ordered.Of("total_bytes", int64(8323428352+n), "total", "7.75 GiB", "capacity", "41.03%")),
	)
	mounts, interfaces := &ordered.Map{}, &ordered.Map{}
	for i := range 30 {
		mounts.Set(fmt.Sprintf("/srv/volume%d", i), ordered.Of("device", fmt.Sprintf("/dev/mapper/vg%d-srv", i), "filesystem", "ext4",
			"options", []any{"rw", "relatime", "errors=remount-ro", "stripe=64"}, "size", "98.30 GiB", "size_bytes", int64(105553780736),
			"available", "71.12 GiB", "available_bytes", int64(76364447744+n*i), "used", "22.15 GiB", "used_bytes", int64(23783403520), "capacity", "23.75%"))
		interfaces.Set(fmt.Sprintf("eth%d", i), ordered.Of("ip", fmt.Sprintf("10.%d.%d.%d", n/65536, n/256%256, n%256), "netmask", "255.255.255.0",
			"network", "10.0.0.0", "mac", fmt.Sprintf("52:54:00:%02x:%02x:%02x", n%256, n/256%256, i), "mtu", int64(1500),
			"bindings", []any{ordered.Of("address", "10.0.0.7", "netmask", "255.255.255.0", "network", "10.0.0.0")}))
	}
	f.Set("mountpoints", mounts)
	f.Set("networking", ordered.Of("hostname", fmt.Sprintf("web%d", n), "fqdn", fmt.Sprintf("web%d.example.com", n), "interfaces", interfaces))
	for i := range 240 {
		f.Set(fmt.Sprintf("legacy_fact_number_%d", i), fmt.Sprintf("value %d of %d", i, n))
	}
	return f
}

// BenchmarkGet reads the records of many targets one after the other, as a
// choice by facts does.
func BenchmarkGet(b *testing.B) {
	const targets = 25_000
	c := Open(b.TempDir())
	names := make([]string, targets)
	for i := range names {
		names[i] = fmt.Sprintf("web%d.example.com", i)
		if err := c.Put(Record{Target: names[i], Collected: time.Now(), Source: "task", Facts: facterLike(i)}); err != nil {
			b.Fatal(err)
		}
	}
	for name, want := range map[string]Want{"age": Only(), "one fact": Only("os"), "a large one": Only("networking"), "all": All()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, target := range names {
					if r, err := c.Get(b.Context(), target, want); err != nil || r == nil {
						b.Fatal(r, err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Seconds())/float64(b.N), "s/25000")
		})
	}
}

// BenchmarkPut keeps the facts of a target.
func BenchmarkPut(b *testing.B) {
	c := Open(b.TempDir())
	facts := facterLike(1)
	for i := 0; b.Loop(); i++ {
		if err := c.Put(Record{Target: fmt.Sprint("web", i), Collected: time.Now(), Source: "task", Facts: facts}); err != nil {
			b.Fatal(err)
		}
	}
}
