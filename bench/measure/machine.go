package measure

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Machine describes the machine of the measurement.
func Machine(ctx context.Context) string {
	facts := []string{strconv.Itoa(cores()) + " cores"}
	for _, f := range []struct{ file, key string }{{"/proc/cpuinfo", "model name"}, {"/proc/meminfo", "MemTotal"}} {
		data, err := os.ReadFile(f.file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == f.key {
				facts = append(facts, strings.TrimSpace(value))
				break
			}
		}
	}
	for _, argv := range [][]string{{"uname", "-sr"}, {"ssh", "-V"}, {"go", "env", "GOVERSION"}} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err == nil {
			facts = append(facts, strings.TrimSpace(string(out)))
		}
	}
	return "Machine: " + strings.Join(facts, "; ") + ". Client and servers share it."
}

func cores() int {
	n := 0
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "processor") {
			n++
		}
	}
	return n
}
