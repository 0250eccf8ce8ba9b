package option

import (
	"fmt"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/transport"
)

// Values returns options whose types have been checked. If an option is not
// set, the result is the zero value of the type.
type Values struct{ *ordered.Map }

// Text returns a text.
func (v Values) Text(name string) string { s, _ := v.Value(name).(string); return s }

// Flag returns a flag.
func (v Values) Flag(name string) bool { b, _ := v.Value(name).(bool); return b }

// Number returns a number.
func (v Values) Number(name string) int { n, _ := v.Value(name).(int64); return int(n) }

// Seconds returns a time that is given in seconds.
func (v Values) Seconds(name string) time.Duration {
	return time.Duration(v.Number(name)) * time.Second
}

// Secret returns a text as a secret.
func (v Values) Secret(name string) transport.Secret { return transport.NewSecret(v.Text(name)) }

// Choice returns a flag that can be unset.
func (v Values) Choice(name string) transport.Choice {
	switch v.Value(name) {
	case true:
		return transport.ChoiceYes
	case false:
		return transport.ChoiceNo
	}
	return transport.ChoiceByConfig
}

// Words returns a command: a list of words, or a text that is split at spaces.
func (v Values) Words(name string) []string {
	switch v := v.Value(name).(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return list
	}
	return nil
}

// Hash returns the options in a hash.
func (v Values) Hash(name string) Values {
	m, _ := v.Value(name).(*ordered.Map)
	return Values{m}
}
