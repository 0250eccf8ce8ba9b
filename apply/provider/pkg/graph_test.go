package pkg

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

// TestGraph counts the programs that 400 packages of a graph need: one query if they are present, and one transaction if they are not. The
// programs are scripted, because a repository with 400 packages would take minutes to make; TestApt has the real apt-get.
func TestGraph(t *testing.T) {
	var resources []string
	var database, missing strings.Builder
	for i := range 400 {
		resources = append(resources, fmt.Sprintf("Package[p%d]", i), fmt.Sprintf(`Spacer[s%d]`, i)) // not next to each other
		fmt.Fprintf(&database, "install\tok\tinstalled\tp%d\tall\t1.0\t\n", i)
	}
	resources = append(resources, `Spacer[last] {"before":"Package[p0]"}`)
	missing.WriteString("install\tok\tinstalled\tother\tall\t1.0\t\n")
	all := map[string]resource.Type{"Package": Type(), "Spacer": spacers{}}
	names := "dpkg dpkg-query apt-get apt-cache"

	m := providertest.Scripted(t, names, all, answer("dpkg-query", database.String(), 0))
	m.Write("etc/debian_version", "12", 0o644)
	m.Write("etc/os-release", "ID=debian\n", 0o644)
	m.Graph = true
	if got := m.Apply(false, resources...); strings.Count(got, " unchanged") != 801 {
		t.Errorf("present: %s", got)
	}
	m.Want("programs for 400 packages that are present", strings.Join(m.Argv, "\n"), "dpkg-query -W -f "+dpkgFormat)

	m = providertest.Scripted(t, names, all, answer("dpkg-query", missing.String(), 0), answer("dpkg-query", database.String(), 0))
	m.Write("etc/os-release", "ID=debian\n", 0o644)
	m.Graph = true
	if got := m.Apply(false, resources...); strings.Count(got, " changed package_installed") != 400 {
		t.Errorf("missing: %s", got)
	}
	if got := transactions(m); strings.Contains(got, "\n") || !strings.HasPrefix(got, "apt-get install p1 ") || strings.Count(got, " p") != 400 {
		t.Errorf("the transactions are %s", got)
	}
	if len(m.Argv) != 2 {
		t.Errorf("%d programs, want the query and the transaction", len(m.Argv))
	}

	m = providertest.Scripted(t, names, all, answer("dpkg-query", database.String(), 0))
	m.Write("etc/os-release", "ID=debian\n", 0o644)
	m.Apply(false, resources...)
	if len(m.Argv) < 399 {
		t.Errorf("the catalog of a manifest needs %d programs, so this test proves nothing", len(m.Argv))
	}
}

// spacers is a type whose resources are always right, and are applied alone.
type spacers struct{}

func (spacers) New(*resource.Resource) (resource.Item, error) { return spacer{}, nil }

type spacer struct{}

func (spacer) Read(context.Context, *resource.Host) error                 { return nil }
func (spacer) Plan() ([]resource.Change, error)                           { return nil, nil }
func (spacer) Do(context.Context, *resource.Host, *resource.Change) error { return nil }
