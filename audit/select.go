package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/format/fault"
)

// FilesOf returns the named files. If there are none, it returns the files of the log at
// path, as Log.Files does. path is "" if the configuration has no log. command is the name of
// the command, for the hint.
func FilesOf(command, path string, named []string) ([]string, error) {
	switch {
	case len(named) > 0:
		return named, nil
	case path == "":
		return nil, &fault.Error{Kind: Kind, Msg: "The audit log is not configured.",
			Hint: "Set audit: {path: audit.jsonl} in bolt-project.yaml, or name a file: bolt " + command + " FILE."}
	}
	return New(path, time.Now).Files(), nil
}

// ParseHash reads the hash of a record: 64 hexadecimal digits.
func ParseHash(text string) (hash string, ok bool) {
	hash = strings.ToLower(strings.TrimSpace(text))
	return hash, len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

// maxLast is the largest number of ParseLast: Select holds the last actions in memory.
const maxLast = 10000

// ParseLast reads the number of the last actions to select.
func ParseLast(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxLast {
		return 0, fmt.Errorf("it is a number up to %d, not %s", maxLast, text)
	}
	return n, nil
}

// Select passes the actions that match f to each, only the last ones unless last is
// negative. It holds the last ones in memory. It returns the number of matching actions,
// and the number of lines that are not records.
func Select(ctx context.Context, files []string, f Filter, last int, each func(*Entry) error) (matched, others int, err error) {
	var kept []*Entry // the last ones, the oldest at next
	next := 0
	others, err = Entries(ctx, files, func(e *Entry) error {
		if !f.Match(e) {
			return nil
		}
		matched++
		switch {
		case last < 0:
			return each(e)
		case len(kept) < last:
			kept = append(kept, e)
		case last > 0:
			kept[next] = e
			next = (next + 1) % last
		}
		return nil
	})
	if err != nil {
		return matched, others, err
	}
	for i := range kept {
		if err := each(kept[(next+i)%len(kept)]); err != nil {
			return matched, others, err
		}
	}
	return matched, others, nil
}

// ParseSince reads a time ago (90m, 12h, 7d) or a date.
func ParseSince(text string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return now.Add(-time.Duration(n * float64(24*time.Hour))), err == nil && n >= 0 && n < 100000
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
