package exampletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/buildtest"
)

// TestControlRepo runs the commands of examples/control-repo/README.md, and the first command of docs/catalogs.md with a graph.
func TestControlRepo(t *testing.T) {
	example := filepath.Join(root, "examples", "control-repo")
	readme, err := os.ReadFile(filepath.Join(example, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Dir(buildtest.Build(t, root, "cmd/bolt"))
	project := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(project, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	pages, err := os.ReadFile(filepath.Join(root, "docs", "catalogs.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(pages), "\n## Graphs in YAML\n")
	_, graph, _ := strings.Cut(page, "```yaml\n")
	graph, _, _ = strings.Cut(graph, "```")
	if err := os.WriteFile(filepath.Join(project, "web.yaml"), []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := console(page)[0] // the digest does not depend on the project
	readme = append(readme, "\n$ "+shown.command+"\n"...)

	said := make(map[string]string) // by the first words of commands
	for line := range strings.Lines(string(readme)) {
		line, is := strings.CutPrefix(line, "$ ")
		if !is {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "BOLT_POOL=off", "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s%v\n%s", line, err, out)
		}
		said[strings.Join(strings.Fields(line)[:min(4, len(strings.Fields(line)))], " ")] = string(out)
	}
	for command, want := range map[string]string{
		"bolt catalog compile --environment-path": "db01: 3 resources",
		"bolt catalog show before/web01.json":     "Service[nginx]",
		"bolt catalog compile proxy.yaml":         "web02: 4 resources, 0 classes",
		"cat proxy.dot web01.dot":                 "n6 -> n7 [style=bold]",
		"bolt catalog diff before":                "web[01-03]: the same 1 change on 3 nodes\n  ~ File[/etc/nginx/conf.d/site.conf]\n",
		"bolt catalog compile web.yaml":           strings.Join(shown.output, "\n"),
		"bolt catalog find 'Service[nginx]'":      "Service[nginx] on 3 nodes: web[01-03]\n",
	} {
		if !strings.Contains(said[command], want) {
			t.Errorf("%s printed\n%s\nwant %s", command, said[command], want)
		}
	}
}
