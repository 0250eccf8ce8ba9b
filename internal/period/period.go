// Package period formats durations for people.
package period

import (
	"fmt"
	"time"
)

// Text returns a duration in at most two units: 12s, 3m20s, 1h5m, 2d3h.
func Text(d time.Duration) string {
	for _, u := range []struct {
		big, small         time.Duration
		bigName, smallName string
	}{
		{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"},
	} {
		if d < u.big {
			continue
		}
		text := fmt.Sprintf("%d%s", d/u.big, u.bigName)
		if rest := d % u.big / u.small; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, u.smallName)
		}
		return text
	}
	return fmt.Sprintf("%ds", max(0, d/time.Second))
}
