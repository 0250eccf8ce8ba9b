package archive

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// If a path is not a regular file, the resource fails at once. A FIFO would otherwise stop the run.
func TestNoRegularFile(t *testing.T) {
	const params = `"source":"URL/a","checksum":"7d793037a0760186574b0282f2f435e7","checksum_type":"md5"`
	s := newSite(t)
	if err := unix.Mkfifo(s.dir+"/f", 0o666); err != nil {
		t.Fatal(err)
	}
	if out := s.apply(host(), false, s.archive(params)); !strings.Contains(out, "it is not a regular file") {
		t.Error(out)
	}
	s.clean("f")
}
