package builtin

import (
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// times returns the functions for times.
func times(now func() time.Time) []*eval.Function {
	return []*eval.Function{{
		Name: "strftime", Doc: "Formats a Timestamp or a Timespan: %F %T, %Y, %H, %M, %S, %D and so on; a moment in a time zone.",
		Signatures: []eval.Signature{
			{Params: "Timespan $time, String $format", Run: func(c *eval.Call) (value.Value, error) {
				s, err := c.Args[0].(value.Timespan).Format(string(c.Args[1].(value.String)))
				return value.String(s), err
			}},
			{Params: "Timestamp $time, String $format, String $timezone = 'UTC'", Run: func(c *eval.Call) (value.Value, error) {
				zone := ""
				if z, ok := c.Arg(2).(value.String); ok {
					zone = string(z)
				}
				s, err := c.Args[0].(value.Timestamp).Format(string(c.Args[1].(value.String)), zone)
				return value.String(s), err
			}},
			{Params: "String $format, String $timezone = 'UTC'", Run: func(c *eval.Call) (value.Value, error) {
				zone := ""
				if z, ok := c.Arg(1).(value.String); ok {
					zone = string(z)
				}
				s, err := value.NewTimestamp(now()).Format(string(c.Args[0].(value.String)), zone)
				return value.String(s), err
			}},
		},
	}}
}
