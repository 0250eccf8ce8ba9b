package rollout

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTypes compares the types with the types that Decode knows, and with the table of the documentation.
func TestTypes(t *testing.T) {
	for _, name := range Types() {
		if e := newEvent(name); e == nil || e.Type() != name {
			t.Errorf("Decode does not know %s", name)
		}
	}
	text, err := os.ReadFile("codec.go")
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`case "(\w+)":`).FindAllSubmatch(text, -1)
	if len(known) != len(Types()) {
		t.Errorf("Decode knows %d types, the list has %d", len(known), len(Types()))
	}
	docs, err := os.ReadFile("../docs/rollout-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(docs), "\n## Events\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var described []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\| (command|report|decision)").FindAllStringSubmatch(table, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			described = append(described, strings.Trim(name, "`"))
		}
	}
	if !slices.Equal(described, Types()) {
		t.Errorf("the documentation describes\n%s, not\n%s", described, Types())
	}
}

func TestLine(t *testing.T) {
	at := time.Date(2026, 11, 27, 14, 18, 11, 0, time.UTC)
	data, err := Encode(&NodeStarted{Node: "web1", Attempt: 1, Run: "r", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	line, err := Line("20261127-141811-motd", 8, at, data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rollout":"20261127-141811-motd","revision":8,"time":"2026-11-27T14:18:11Z","event":{"type":"node_started","node":"web1","attempt":1,"run":"r","session":"s"}}`
	if string(line) != want {
		t.Errorf("got %s", line)
	}
}
