package facts

import (
	"fmt"
	"math"
	"strconv"
)

// size returns a number of bytes as facter writes it for people, such as "23.54 GiB".
func size(bytes uint64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	exp := int(math.Log2(float64(bytes)) / 10)
	n := math.Round(100*(float64(bytes)/math.Pow(1024, float64(exp)))) / 100
	if n == 1024 {
		exp, n = exp+1, 1
	}
	return strconv.FormatFloat(n, 'f', 2, 64) + " " + []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[exp-1]
}

// percent returns used as a percentage of total.
func percent(used, total uint64) string {
	return fmt.Sprintf("%.2f%%", float64(used)/float64(total)*100)
}

// hertz returns a frequency for people, such as "2.60 GHz"; "" if it is not known.
func hertz(hz uint64) string {
	if hz == 0 {
		return ""
	}
	n, unit := float64(hz), 0
	for n >= 1000 && unit < 4 {
		n, unit = n/1000, unit+1
	}
	return fmt.Sprintf("%.2f %sHz", n, []string{"", "k", "M", "G", "T"}[unit])
}
