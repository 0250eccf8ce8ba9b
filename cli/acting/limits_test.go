package acting

import (
	"testing"

	"bolt/cli"
	"bolt/transport"
)

func TestLimitsOf(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       transport.Limits
		ok         bool
	}{
		{"max-files", "1_000", transport.Limits{Files: 1000}, true},
		{"max-files", "0", transport.Limits{}, false},
		{"max-files", "many", transport.Limits{}, false},
		{"max-depth", "7", transport.Limits{Depth: 7}, true},
		{"max-depth", "-1", transport.Limits{}, false},
		{"max-size", "1", transport.Limits{Bytes: 1}, true},
		{"max-size", "2K", transport.Limits{Bytes: 2 << 10}, true},
		{"max-size", "3M", transport.Limits{Bytes: 3 << 20}, true},
		{"max-size", "4G", transport.Limits{Bytes: 4 << 30}, true},
		{"max-size", "5T", transport.Limits{Bytes: 5 << 40}, true},
		{"max-size", "8388607T", transport.Limits{Bytes: 8388607 << 40}, true},
		{"max-size", "8388608T", transport.Limits{}, false},
		{"max-size", "9223372036854775808", transport.Limits{}, false},
		{"max-size", "1KM", transport.Limits{}, false},
		{"max-size", "0G", transport.Limits{}, false},
		{"max-size", "-1G", transport.Limits{}, false},
		{"max-size", "G", transport.Limits{}, false},
		{"max-size", "", transport.Limits{}, false},
	} {
		var o Limits
		o.Bind(cli.NewBinder(cli.Values{c.name: {c.text}}, nil))
		got, err := o.Parse()
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("--%s %q: got %+v, %v", c.name, c.text, got, err)
		}
	}
}
