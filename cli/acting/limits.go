package acting

import (
	"bolt/cli"
	"bolt/transport"
)

// Limits are the limits of a download from one target.
type Limits struct{ files, size, depth cli.Optional }

// Bind reads the flags.
func (o *Limits) Bind(b *cli.Binder) {
	b.Optional("max-files", &o.files)
	b.Optional("max-size", &o.size)
	b.Optional("max-depth", &o.depth)
}

// Parse returns the limits.
func (o *Limits) Parse() (l transport.Limits, err error) {
	for _, one := range []struct {
		name string
		text cli.Optional
		into *int
	}{{"max-files", o.files, &l.Files}, {"max-depth", o.depth, &l.Depth}} {
		if !one.text.Given {
			continue
		}
		n, err := cli.ParseCount(one.text.Text)
		if err != nil || n <= 0 {
			return l, cli.Hinted(cli.Invalid(one.name, one.text.Text), "give a number above 0")
		}
		*one.into = n
	}
	if o.size.Given {
		if l.Bytes, err = transport.ParseSize(o.size.Text); err != nil {
			return l, cli.Hinted(cli.Invalid("max-size", o.size.Text), "give bytes (1000000) or a unit (500M, 20G; 1K is 1,024 bytes)")
		}
	}
	return l, nil
}
