// Package spelling finds the name that a misspelled word means, and formats
// lists of names for messages.
package spelling

import "strings"

// Near returns the name that word probably means, or "" if none is close.
func Near(word string, names []string) string {
	best, least := "", 3 // with more than two errors it is another word
	if len(word) < 6 {
		least = 2 // and with more than one error in a short word
	}
	for _, n := range names {
		if d := Distance(word, n); d < least && d < len(word) {
			best, least = n, d
		}
	}
	return best
}

// Distance returns the number of letters to insert, remove, replace, or swap
// with their neighbour, to turn a into b (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Or joins alternatives: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
