package period

import (
	"testing"
	"time"
)

func TestFormatsPeriods(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 200 * time.Second: "3m20s",
		time.Hour: "1h", 65 * time.Minute: "1h5m", 51 * time.Hour: "2d3h",
	} {
		if got := Text(d); got != want {
			t.Errorf("%v: got %s, want %s", int64(d), got, want)
		}
	}
}
