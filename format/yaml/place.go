package yaml

import (
	"bytes"
	"errors"
	"io"
	"sort"

	yamlv3 "gopkg.in/yaml.v3"
)

// Place returns the line and the column, from 1, at which a text cannot be YAML any more. The
// library that reads YAML knows only the line of the list or mapping around that, or none.
// problem is the Problem of the Error about the text.
//
// It is the end of the shortest prefix of the text that has the same problem: a reader goes
// from left to right, and does not see the rest. Place reads the text some dozen times.
func Place(text []byte, problem string) (line, column int) {
	same := func(n int) bool {
		var doc yamlv3.Node
		err := yamlv3.NewDecoder(bytes.NewReader(text[:n])).Decode(&doc)
		if err == nil || errors.Is(err, io.EOF) {
			return false
		}
		e, is := errors.AsType[*Error](syntaxError(err, ""))
		return is && e.Problem == problem
	}
	var ends []int // of the lines
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	ends = append(ends, len(text))
	if !same(len(text)) {
		return 0, 0
	}
	i := sort.Search(len(ends)-1, func(i int) bool { return same(ends[i]) })
	start := 0
	if i > 0 {
		start = ends[i-1]
	}
	end := start + sort.Search(ends[i]-start, func(n int) bool { return same(start + n) })
	return i + 1, max(end-start, 1)
}
