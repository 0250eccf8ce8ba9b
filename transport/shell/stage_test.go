package shell

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// dds are scripts that behave like the dd of different machines.
var dds = map[string]string{
	"GNU":     "exec /usr/bin/dd \"$@\"",
	"busybox": "exec /usr/bin/busybox dd \"$@\"",
	// Older systems have a dd without iflag.
	"old": "for a; do case $a in iflag=*) echo \"dd: unknown operand $a\" >&2; exit 1;; esac; done; exec /usr/bin/dd \"$@\"",
}

// withDD returns a PATH with another dd.
func withDD(t *testing.T, text string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(bin+"/dd", []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin + ":/usr/bin:/bin"
}

// TestStaging checks that a staging's script reads exactly its own data, in
// pieces of any size, with every shell and every dd, and that it fails if data
// is missing.
func TestStaging(t *testing.T) {
	t.Parallel()
	var data []byte
	st := staging{token: testToken, blobs: []blob{
		{name: "x", mode: 0o744, size: 100_001}, {name: "empty", mode: 0o640}, {name: "d/it's $a", mode: 0o640, size: maxBlock + 7},
		{name: "d/e/f", mode: 0o444, size: 1}, {name: "y", mode: 0o744, size: 3}, {name: ".in", mode: 0o600, size: 5000},
	}}
	for i := range int(st.size()) {
		data = append(data, byte(i*i>>5))
	}
	for name, sh := range posixShells(t) {
		for dd, text := range dds {
			t.Run(name+" "+dd, func(t *testing.T) {
				t.Parallel()
				st := st
				st.dir = filepath.Join(t.TempDir(), "private")
				run := func(in io.Reader) (string, string, error) {
					cmd := exec.Command(sh, "-c", strings.ReplaceAll(st.script(), "/bin/sh", sh)+"; cat")
					cmd.Env = []string{"PATH=" + withDD(t, text), "LC_ALL=C"}
					cmd.Stdin = in
					var out, errs bytes.Buffer
					cmd.Stdout, cmd.Stderr = &out, &errs
					err := cmd.Run()
					return out.String(), errs.String(), err
				}
				slow, to := io.Pipe()
				var work sync.WaitGroup
				work.Go(func() {
					for rest := append(data[:len(data):len(data)], "rest"...); len(rest) > 0; {
						n := min(len(rest), 70_000)
						to.Write(rest[:n])
						rest = rest[n:]
						time.Sleep(time.Millisecond)
					}
					to.Close()
				})
				rest, errs, err := run(slow)
				work.Wait()
				if err != nil || rest != "rest" || errs != "" {
					t.Fatalf("%.100q, %q, %v", rest, errs, err)
				}
				at := 0
				for _, b := range st.blobs {
					got, err := os.ReadFile(st.path(b.name))
					if want := data[at : at+int(b.size)]; err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s: %d bytes, %v; want %d", b.name, len(got), err, len(want))
					}
					if info, err := os.Stat(st.path(b.name)); err != nil || uint32(info.Mode()) != b.mode {
						t.Errorf("%s: %v, %v", b.name, info.Mode(), err)
					}
					at += int(b.size)
				}
				for dir := range map[string]bool{"": true, "d": true, "d/e": true} {
					if info, err := os.Stat(st.path(dir)); err != nil || info.Mode().Perm() != 0o700 {
						t.Errorf("%s: %v, %v", dir, info.Mode(), err)
					}
				}
				if err := os.RemoveAll(st.dir); err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{0, 1, 100_000, 100_001, 100_001 + maxBlock, len(data) - 1} {
					_, errs, err := run(bytes.NewReader(data[:n]))
					if err == nil || errs != fmt.Sprintf("%s#%s %s.\n", testToken, stepShort, testToken) {
						t.Errorf("%d bytes: %q, %v", n, errs, err)
					}
					if _, err := os.Stat(st.dir); !os.IsNotExist(err) {
						t.Errorf("%d bytes: the directory: %v", n, err)
					}
				}
			})
		}
	}
}

// TestCounts checks that the statistics of dd are not part of an error text.
func TestCounts(t *testing.T) {
	said := "write dd: error writing 'standard output': No space left on device\n2+0 records in\n1+1 records out\n5000 bytes (5.0 kB, 4.9 KiB) copied, 0.01 s, 1 MB/s\n"
	if f := parseFailed([]byte(said)); f.step != "write" || f.text != "dd: error writing 'standard output': No space left on device" {
		t.Errorf("%+v", f)
	}
}
