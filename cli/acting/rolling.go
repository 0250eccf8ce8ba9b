package acting

import (
	"strings"

	"bolt/cli"
	"bolt/internal/spelling"
	"bolt/run"
)

// Rolling are the options that act on targets in batches.
type Rolling struct{ serial, maxFailures, pause cli.Optional }

// Bind reads the flags.
func (o *Rolling) Bind(b *cli.Binder) {
	b.Optional("serial", &o.serial)
	b.Optional("max-failures", &o.maxFailures)
	b.Optional("pause", &o.pause)
}

// Batches reports whether the targets are divided into batches.
func (o *Rolling) Batches() bool { return o.serial.Given }

// Parse returns the division into batches.
func (o *Rolling) Parse() (*run.Rolling, error) {
	r := &run.Rolling{}
	if o.serial.Given {
		for text := range strings.SplitSeq(o.serial.Text, ",") {
			size, err := run.ParseAmount(text, 1)
			if err != nil {
				return nil, cli.Hinted(cli.Invalid("serial", o.serial.Text), "give a number of targets (at least 1), a percentage (10%%), or several of these, separated by commas (1,10%%,50%%)")
			}
			r.Serial = append(r.Serial, size)
		}
	}
	var needSerial []string
	if o.maxFailures.Given && !o.serial.Given {
		needSerial = append(needSerial, "'--max-failures'")
	}
	if o.pause.Given && !o.serial.Given {
		needSerial = append(needSerial, "'--pause'")
	}
	if needSerial != nil {
		return nil, cli.Hinted(cli.Errorf("Option %s can only be specified with '--serial'", spelling.Or(needSerial)), "add --serial 1 to act on one target after the other")
	}
	if o.maxFailures.Given {
		most, err := run.ParseAmount(o.maxFailures.Text, 0)
		if err != nil {
			return nil, cli.Hinted(cli.Invalid("max-failures", o.maxFailures.Text), "give a number of targets (at least 0) or a percentage (10%%)")
		}
		r.MaxFailures = &most
	}
	if o.pause.Given {
		d, err := cli.ParseTimeout(o.pause.Text)
		if err != nil {
			return nil, cli.Hinted(cli.Invalid("pause", o.pause.Text), "give a number of seconds (30, 0.5) or a time with a unit (90s, 5m, 1h)")
		}
		r.Pause = d
	}
	return r, nil
}

// Percentage reads a --concurrency that is a percentage; ok is false for all other
// values.
func Percentage(text string) (a run.Amount, ok bool) {
	if !strings.HasSuffix(text, "%") {
		return run.Amount{}, false
	}
	a, err := run.ParseAmount(text, 1)
	return a, err == nil
}
