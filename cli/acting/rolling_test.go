package acting

import (
	"testing"
	"time"

	"bolt/cli"
	"bolt/run"
)

func TestParsesRollingFlags(t *testing.T) {
	var o Rolling
	o.Bind(cli.NewBinder(cli.Values{"serial": {"1,50%"}, "max-failures": {"2"}, "pause": {"90s"}}, nil))
	r, err := o.Parse()
	if err != nil || len(r.Serial) != 2 || r.Serial[1] != (run.Amount{N: 50, Percent: true}) || r.MaxFailures.N != 2 || r.Pause != 90*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	for _, values := range []cli.Values{{"serial": {"0"}}, {"pause": {"1"}}, {"serial": {"1"}, "max-failures": {"-1"}}, {"serial": {"1"}, "pause": {"0"}}} {
		var o Rolling
		o.Bind(cli.NewBinder(values, nil))
		if _, err := o.Parse(); err == nil {
			t.Errorf("%v: no error", values)
		}
	}
}
