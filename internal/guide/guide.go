// Package guide holds short texts about single topics, for people at a
// terminal.
package guide

import (
	"embed"
	"io/fs"
	"strings"
)

// Each file has the documents to go on with in its first line, and the text
// below it: Width characters wide at most, so that it fits when it is indented.
//
//go:embed topics/*.txt
var topics embed.FS

// width is how many characters a line of a text has at most.
const width = 76

const ext = ".txt"

// Topic is one text.
type Topic struct {
	Name string
	Text string   // lines, each with its end
	Docs []string // documents that say more, by their paths in the source
}

// Topics returns the names of all topics, sorted.
func Topics() []string {
	entries, err := fs.ReadDir(topics, "topics")
	if err != nil {
		panic(err) // what is built in can be read
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ext)
	}
	return names
}

// Find returns the topic of that name, if there is one.
func Find(name string) (Topic, bool) {
	text, err := topics.ReadFile("topics/" + name + ext)
	if err != nil {
		return Topic{}, false
	}
	docs, rest, _ := strings.Cut(string(text), "\n")
	return Topic{Name: name, Text: rest, Docs: strings.Fields(docs)}, true
}
