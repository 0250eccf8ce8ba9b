package measure

import (
	"context"
	"encoding/json"
	"fmt"

	"bolt/format/ordered"
)

const (
	// maxValue bounds a value in the log of a rollout.
	maxValue = 1 << 10
	// maxBrief bounds a value in a reason.
	maxBrief = 80
)

// subject is a value as an expression sees it.
type subject struct{ value any }

// Value implements match.Subject.
func (s subject) Value(context.Context, string) (any, bool, error) { return s.value, true, nil }

// convert returns a value with the types of an ordered.Map.
func convert(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int64, float64, *ordered.Map:
		return v
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = convert(x)
		}
		return out
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	m := &ordered.Map{}
	if m.UnmarshalJSON(append(append([]byte(`{"v":`), text...), '}')) != nil {
		return nil
	}
	return m.Value("v")
}

// scalar is the one value of rows with one column, such as a count, or the rows.
func scalar(rows []any) any {
	if len(rows) == 1 {
		if row, is := rows[0].(*ordered.Map); is && row.Len() == 1 {
			for _, v := range row.All() {
				return v
			}
		}
	}
	return rows
}

// short returns a value that fits into the log of a rollout: a longer one as the beginning of its text.
func short(v any) any {
	if text, is := v.(string); is {
		return cut(text, maxValue)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if len(text) > maxValue {
		return cut(string(text), maxValue)
	}
	return v
}

func brief(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return cut(string(text), maxBrief)
}

// cut returns the beginning of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 { // not in the middle of a character
		most--
	}
	return text[:most] + "…"
}
