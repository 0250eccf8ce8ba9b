package executor

import (
	"reflect"
	"testing"

	"bolt/puppet/value"
	"bolt/run"
)

func TestBatches(t *testing.T) {
	t.Parallel()
	list := func(v ...value.Value) value.Value { return value.NewArray(v...) }
	for _, k := range []struct {
		serial value.Value
		n      int
		want   []int
	}{
		{nil, 7, []int{7}},
		{value.Int(3), 7, []int{3, 3, 1}},
		{value.String("50%"), 7, []int{3, 3, 1}},
		{value.String("10%"), 7, []int{1, 1, 1, 1, 1, 1, 1}},
		{list(value.Int(1), value.String("10%"), value.String("100%")), 20, []int{1, 2, 17}},
		{list(value.Int(1), value.Int(2)), 6, []int{1, 2, 2, 1}},
		{value.Int(100), 2, []int{2}},
	} {
		var r run.Rolling
		if k.serial != nil {
			if err := rollingOption(&r, "serial", k.serial); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Batches(k.n); !reflect.DeepEqual(got, k.want) {
			t.Errorf("%v of %d: %v, want %v", k.serial, k.n, got, k.want)
		}
	}
}

func TestRollingOptions(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string][]value.Value{
		"serial":       {value.Int(0), value.Int(-1), value.String("x"), value.String("101%"), value.String("0%"), value.NewArray(), value.Undef{}, value.Float(1)},
		"max_failures": {value.Int(-1), value.String("x%"), value.Undef{}},
		"pause":        {value.Int(-1), value.String("1")},
	} {
		for _, v := range bad {
			if err := rollingOption(new(run.Rolling), name, v); err == nil {
				t.Errorf("%s %v is taken", name, v)
			}
		}
	}
	if err := checkRolling(&run.Rolling{MaxFailures: &run.Amount{}}); err == nil {
		t.Error("max_failures without serial")
	}
}
