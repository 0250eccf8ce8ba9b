package facts

import (
	"errors"
	"strconv"
	"strings"
)

func (c *collector) memory() (any, error) {
	text, is := c.read("/proc/meminfo")
	if !is {
		return nil, nil
	}
	bytes := parseMeminfo(text)
	total, is := bytes["MemTotal"]
	if !is {
		return nil, errors.New("/proc/meminfo has no MemTotal")
	}
	available, is := bytes["MemAvailable"]
	if !is { // before Linux 3.14
		available = bytes["MemFree"] + bytes["Buffers"] + bytes["Cached"]
	}
	out := object{"system": amounts(total, available)}
	if swap := bytes["SwapTotal"]; swap > 0 {
		out["swap"] = amounts(swap, bytes["SwapFree"])
	}
	return out, nil
}

func parseMeminfo(text string) map[string]uint64 {
	bytes := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) == 2 && f[1] == "kB" {
			if n, err := strconv.ParseUint(f[0], 10, 54); err == nil {
				bytes[name] = n * 1024
			}
		}
	}
	return bytes
}

func amounts(total, available uint64) object {
	used := total - min(available, total)
	return object{
		"total": size(total), "total_bytes": total,
		"available": size(available), "available_bytes": available,
		"used": size(used), "used_bytes": used,
		"capacity": percent(used, total),
	}
}
