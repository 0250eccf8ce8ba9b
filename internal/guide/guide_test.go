package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTopics(t *testing.T) {
	names := Topics()
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	// Those that Puppet Bolt has.
	for _, want := range strings.Fields("debugging inventory links logging module modulepath project targets transports") {
		if !slices.Contains(names, want) {
			t.Errorf("no topic %s", want)
		}
	}
	for _, name := range names {
		topic, ok := Find(name)
		if !ok || topic.Name != name {
			t.Errorf("%s is not found: %v, %v", name, topic, ok)
		}
	}
	for _, name := range []string{"", "nope", "../guide", "Inventory", "inventory.txt"} {
		if topic, ok := Find(name); ok {
			t.Errorf("%q is found: %v", name, topic)
		}
	}
}

// TestTexts: lines fit, and what a text refers to is there.
func TestTexts(t *testing.T) {
	doc := regexp.MustCompile(`docs/[\w.-]*\w`)
	other := regexp.MustCompile(`"bolt guide (\w+)"`)
	for _, name := range Topics() {
		topic, _ := Find(name)
		if !strings.HasSuffix(topic.Text, "\n") || strings.HasPrefix(topic.Text, "\n") || len(topic.Docs) == 0 {
			t.Errorf("%s: %d documents, text %q", name, len(topic.Docs), topic.Text)
		}
		for line := range strings.Lines(topic.Text) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > width || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s: line %q", name, line)
			}
		}
		for _, d := range append(doc.FindAllString(topic.Text, -1), topic.Docs...) {
			if _, err := os.Stat(filepath.Join("..", "..", d)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, m := range other.FindAllStringSubmatch(topic.Text, -1) {
			if !slices.Contains(Topics(), m[1]) {
				t.Errorf("%s: there is no topic %s", name, m[1])
			}
		}
	}
}
