package acting

import (
	"slices"
	"strings"

	"bolt/cli"
	"bolt/output/listing"
)

// CompleteTargets returns the completions of a comma-separated list of targets: the
// list with a completed last name, also after "!" or "&". known are the names of the
// inventory. Names that are already in the list are left out.
func CompleteTargets(list string, known []string) cli.Completions {
	done, last := "", list
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		done, last = list[:i+1], list[i+1:]
	}
	given := strings.Split(done, ",")
	for i, n := range given {
		given[i] = strings.TrimLeft(n, "!&")
	}
	if last != "" && (last[0] == '!' || last[0] == '&') {
		done, last = done+last[:1], last[1:]
	}
	c := cli.Completions{NoSpace: true}
	for _, n := range known {
		if strings.HasPrefix(n, last) && !slices.Contains(given, n) {
			c.Words = append(c.Words, cli.Word{Text: done + n})
		}
	}
	return c
}

// CompleteNames completes names, and shows their descriptions.
func CompleteNames(prefix string, list []listing.Described) cli.Completions {
	words := make([]cli.Word, len(list))
	for i, d := range list {
		words[i] = cli.Word{Text: d.Name, About: d.Description}
	}
	return cli.Named(words, prefix)
}
