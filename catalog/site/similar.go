package site

import (
	"path"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/internal/spelling"
)

// maxSimilar is the number of resources that are offered instead of one that is not there.
const maxSimilar = 3

// similar returns resources of a catalog that a user may have meant with a reference, the best
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

// near reports whether a word was probably meant to be a name.
func near(word, name string) bool {
	const most = 2 // slips, more of which Near does not accept
	return max(len(word)-len(name), len(name)-len(word)) <= most && spelling.Near(strings.ToLower(word), []string{strings.ToLower(name)}) != ""
}

// didYouMean is the end of a message about a resource that is not there.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " Did you mean " + spelling.Or(names) + "?"
}
