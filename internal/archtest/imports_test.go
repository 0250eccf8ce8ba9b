package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// onlyIn names the only folders that may import an outside package. The path of
// a module covers all of its packages, too.
var onlyIn = map[string][]string{
	"golang.org/x/crypto/ssh":              {"transport/ssh", "internal/sshtest", "release/signature", "bench"},
	"github.com/hiddeco/sshsig":            {"release/signature"},
	"github.com/pkg/sftp":                  {"transport/ssh", "internal/sshtest", "bench"},
	"github.com/jcmturner/gokrb5/v8":       {"transport/krb5"},
	"github.com/jcmturner/gofork":          {"transport/krb5"},
	"github.com/bodgit/ntlmssp":            {"transport/winrm"},
	"github.com/skeema/knownhosts":         {"transport/ssh"},
	"github.com/kevinburke/ssh_config":     {"transport/ssh"},
	"go.yaml.in/yaml/v4":                   {"format/yaml"},
	"github.com/BurntSushi/toml":           {"inventory/ansible"},
	"github.com/spf13/cobra":               {"cli/complete"},
	"github.com/spf13/pflag":               {"cli/complete"},
	"flag":                                 {"cmd", "bench"},
	"github.com/aws/aws-sdk-go-v2":         {"clouds/aws"},
	"github.com/aws/smithy-go":             {"clouds/aws"},
	"github.com/Azure/azure-sdk-for-go":    {"clouds/azure"},
	"golang.org/x/oauth2":                  {"clouds/gcloud"},
	"testing":                              {"apply/provider/hosttest", "apply/provider/providertest", "apply/remote/helpertest", "internal/buildtest", "internal/cputest", "internal/krb5test", "internal/ptytest", "internal/puppetdbtest", "internal/roottest", "internal/sshtest", "store/storetest", "transport/winrm/winrmtest", "transport/transporttest"},
	"go.uber.org/goleak":                   {},
	"golang.org/x/net":                     {},
	"log":                                  {},
	"embed":                                {"apply/remote/embedded", "cli/bash", "cmd/bolt", "internal/guide", "internal/puppetdbtest", "modules/builtin", "transport/powershell"},
	"unsafe":                               {},
	"github.com/rogpeppe/go-internal":      {"apply", "output"},
	"github.com/google/go-cmp":             {},
	"github.com/inconshreveable/mousetrap": {},
}

// TestImports checks every import against layers.txt and onlyIn, and that each
// permission of layers.txt is used.
func TestImports(t *testing.T) {
	allowed := layers(t)
	found := make(map[string]bool)
	unknown := make(map[string]bool)
	used := make(map[[2]string]bool) // importer, import
	for _, f := range source(t) {
		rule, known := allowed[f.pkg]
		if found[f.pkg] = true; !known && !unknown[f.pkg] {
			unknown[f.pkg] = true
			t.Errorf("%s: package %s is not in layers.txt; decide its layer and add it", f.name, f.pkg)
		}
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			if dep, ours := strings.CutPrefix(imp, module+"/"); ours {
				used[[2]string{f.pkg, dep}] = true
				if known && !slices.Contains(rule, dep) {
					t.Errorf("%s: %s may not import %s", f.at(spec), f.pkg, dep)
				}
				continue
			}
			for outside, only := range onlyIn {
				below := strings.Contains(outside, ".") && under(imp, outside)
				if (imp == outside || below) && !under(f.pkg, only...) {
					t.Errorf("%s: %s may not import %s (allowed in %q)", f.at(spec), f.pkg, imp, only)
				}
			}
			if spec.Name != nil && spec.Name.Name == "_" && imp != "embed" {
				t.Errorf("%s: import of %s for its side effects", f.at(spec), imp)
			}
		}
	}
	for pkg, deps := range allowed {
		for _, dep := range deps {
			if _, ok := allowed[dep]; !ok {
				t.Errorf("layers.txt: %s may import %s, which has no line of its own", pkg, dep)
			}
			if found[pkg] && !used[[2]string{pkg, dep}] {
				t.Errorf("layers.txt: %s may import %s, but does not; take the permission back", pkg, dep)
			}
		}
		if !found[pkg] {
			t.Errorf("layers.txt: there is no package %s; remove its line", pkg)
		}
	}
}

// TestArchitectureNamesEachPackage checks that docs/architecture.md names each
// package.
func TestArchitectureNamesEachPackage(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range layers(t) {
		if !under(pkg, "bench") && !strings.Contains(string(page), "`"+pkg+"`") {
			t.Errorf("docs/architecture.md does not name the package %s", pkg)
		}
	}
}

// TestLayersHaveNoCycle checks that no package and no top-level folder imports
// itself through others.
func TestLayersHaveNoCycle(t *testing.T) {
	packages := layers(t)
	folders := make(map[string][]string)
	for pkg, deps := range packages {
		from, _, _ := strings.Cut(pkg, "/")
		for _, dep := range deps {
			if to, _, _ := strings.Cut(dep, "/"); to != from && !slices.Contains(folders[from], to) {
				folders[from] = append(folders[from], to)
			}
		}
	}
	t.Run("packages", func(t *testing.T) { acyclic(t, packages) })
	t.Run("folders", func(t *testing.T) { acyclic(t, folders) })
}

// acyclic reports each cycle of the graph.
func acyclic(t *testing.T, graph map[string][]string) {
	const walking, done = 1, 2
	state := make(map[string]int)
	var walk func(node string, trail []string)
	walk = func(node string, trail []string) {
		trail = append(trail, node)
		switch state[node] {
		case walking:
			t.Errorf("layers.txt: cycle %s", strings.Join(trail, " -> "))
			return
		case done:
			return
		}
		state[node] = walking
		for _, next := range graph[node] {
			walk(next, trail)
		}
		state[node] = done
	}
	for node := range graph {
		walk(node, nil)
	}
}

// layers parses the lines "package: import import ..." of layers.txt.
func layers(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	allowed := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		pkg, imports, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("layers.txt: no colon in %q", line)
		}
		pkg = strings.TrimSpace(pkg)
		if _, twice := allowed[pkg]; twice {
			t.Fatalf("layers.txt: %s is there twice", pkg)
		}
		allowed[pkg] = strings.Fields(imports)
	}
	return allowed
}
