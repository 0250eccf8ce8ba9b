package site

import (
	"path"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/internal/spelling"
)

// maxSimilar is the number of resources that bolt suggests in place of a missing resource.
const maxSimilar = 3

// similar returns the resources of a catalog whose references are most similar to a reference, the best match
// first. The type of the reference is "" for any.
func similar(c *catalog.Catalog, ref catalog.Ref) []string {
	var best, good, fair []string
	for _, r := range c.Resources() {
		sameType := ref.Type == "" || strings.EqualFold(r.Type, ref.Type)
		switch {
		case r.Virtual:
		case strings.EqualFold(r.Title, ref.Title):
			best = append(best, r.String())
		case sameType && near(ref.Title, r.Title):
			good = append(good, r.String())
		case sameType && ref.Type != "" && (strings.Contains(r.Title, ref.Title) || path.Base(r.Title) == path.Base(ref.Title)):
			fair = append(fair, r.String())
		}
	}
	all := slices.Concat(best, good, fair)
	return all[:min(maxSimilar, len(all))]
}

// near reports whether a word is probably a misspelt name.
func near(word, name string) bool {
	const most = 2 // errors, more of which Near does not accept
	return max(len(word)-len(name), len(name)-len(word)) <= most && spelling.Near(strings.ToLower(word), []string{strings.ToLower(name)}) != ""
}

// didYouMean returns the end of a message about a missing resource.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " Did you mean " + spelling.Or(names) + "?"
}
