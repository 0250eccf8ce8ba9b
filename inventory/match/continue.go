package match

import "strings"

// Continuations returns possible continuations of an expression that begins with
// prefix, each as the whole expression: names, lists after "in", and "and" and "or"
// after a comparison.
func Continuations(prefix string) []string {
	begin := strings.TrimRight(prefix, "abcdefghijklmnopqrstuvwxyz")
	before, last := strings.TrimRight(begin, " "), prefix[len(begin):]
	if strings.HasSuffix(begin, ".") || strings.Count(strings.ReplaceAll(begin, `\"`, ""), `"`)%2 == 1 {
		return nil
	}
	var offers []string
	words := strings.FieldsFunc(before, func(r rune) bool { return r == ' ' || r == '(' })
	word := ""
	if len(words) > 0 {
		word = words[len(words)-1]
	}
	switch {
	case word == "in":
		offers = []string{"groups", "features", "alias"}
	case before == "", strings.HasSuffix(before, "("), word == "and", word == "or", word == "not":
		for _, name := range Names() {
			if name == "facts" || name == "vars" {
				name += "."
			}
			offers = append(offers, name)
		}
	case strings.ContainsAny(before[len(before)-1:], "=<>~!,["):
	default:
		offers = []string{"and", "or", "in"}
	}
	var list []string
	for _, o := range offers {
		if strings.HasPrefix(o, last) {
			list = append(list, begin+o)
		}
	}
	return list
}
