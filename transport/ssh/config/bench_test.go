package config

import (
	"fmt"
	"strings"
	"testing"
)

// manyHosts returns an ssh_config as a program writes it for an inventory.
func manyHosts(n int) string {
	var b strings.Builder
	b.WriteString("Host *.example.com\n User admin\n")
	for i := range n {
		fmt.Fprintf(&b, "Host node%d node%d.example.com\n HostName 10.%d.%d.%d\n Port 22%02d\n IdentityFile ~/.ssh/k%d\n", i, i, i>>16, i>>8&255, i&255, i%100, i%7)
	}
	b.WriteString("Host node*\n ProxyJump gate\nMatch user root\n IdentitiesOnly yes\nHost *\n ConnectTimeout 5\n")
	return b.String()
}

func BenchmarkConfigLoad25000(b *testing.B) {
	path := writeConfig(b, manyHosts(25_000))
	for b.Loop() {
		if _, err := readFiles(Local{}, path, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConfigLookup25000 looks up 25,000 hosts in turn, each for the first
// time.
func BenchmarkConfigLookup25000(b *testing.B) {
	for _, size := range []struct {
		name string
		text string
	}{{"a block for each host", manyHosts(25_000)}, {"few blocks", manyHosts(3)}} {
		b.Run(size.name, func(b *testing.B) {
			c, _ := loadText(b, size.text)
			names := make([]string, 25_000)
			for i := range names {
				names[i] = fmt.Sprintf("node%d", i)
			}
			b.ResetTimer()
			for b.Loop() {
				clear(c.cache)
				for _, n := range names {
					if _, err := c.lookup(n, "", 0); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
