package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
)

// A mount is a line of /proc/self/mounts.
type mount struct {
	device, path, kind string
	options            []string
}

// mounts returns the mounted file systems that facter reports, in the order of mounting.
func (c *collector) mounts() []mount {
	return c.mount.get(func() []mount {
		text, is := c.read("/etc/mtab")
		if !is {
			text, _ = c.read("/proc/self/mounts")
		}
		var out []mount
		for _, m := range parseMounts(text) {
			ofKernel := strings.HasPrefix(m.path, "/proc") || strings.HasPrefix(m.path, "/sys")
			if ofKernel && m.kind != "tmpfs" || m.kind == "autofs" {
				continue
			}
			if m.device == "/dev/root" {
				m.device = c.rootDevice()
			}
			out = append(out, m)
		}
		return out
	})
}

func parseMounts(text string) []mount {
	var out []mount
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[0], "#") {
			continue
		}
		out = append(out, mount{unescape(f[0]), unescape(f[1]), unescape(f[2]), strings.Split(unescape(f[3]), ",")})
	}
	return out
}

// unescape decodes the octal escapes of getmntent(3), such as \040 for a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			var n int
			if _, err := fmt.Sscanf(s[i+1:i+4], "%03o", &n); err == nil && n < 256 {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

var rootOption = lazyregexp.New(`root=(\S+)`)

// rootDevice returns the device of the kernel's option root. Not all systems have /dev/root.
func (c *collector) rootDevice() string {
	m := rootOption().FindStringSubmatch(c.line("/proc/cmdline"))
	if m == nil {
		return ""
	}
	for name, dir := range map[string]string{"PARTUUID=": "by-partuuid", "UUID=": "by-uuid", "LABEL=": "by-label", "PARTLABEL=": "by-partlabel"} {
		if id, is := strings.CutPrefix(m[1], name); is {
			link := "/dev/disk/" + dir + "/" + id
			if to, err := os.Readlink(c.file(link)); err == nil {
				return filepath.Join(filepath.Dir(link), to)
			}
		}
	}
	return m[1]
}

func (c *collector) mountpoints() (any, error) {
	out := object{}
	var failed error
	for _, m := range c.mounts() {
		s, err := c.sizes(m)
		if err != nil {
			failed = err
		}
		used := s.size - min(s.free, s.size)
		capacity := "0%"
		switch total := used + s.available; {
		case used == total:
			capacity = "100%"
		case used > 0:
			capacity = percent(used, total)
		}
		out[m.path] = object{
			"device": m.device, "filesystem": m.kind, "options": m.options,
			"size": size(s.size), "size_bytes": s.size,
			"available": size(s.available), "available_bytes": s.available,
			"used": size(used), "used_bytes": used,
			"capacity": capacity,
		}
	}
	return out, failed
}

// sizes returns the sizes of a mounted file system. All are 0 if statfs fails. The error is for a file
// server that does not answer.
func (c *collector) sizes(m mount) (fsSize, error) {
	path := c.file(m.path)
	if !onNetwork(m.kind) {
		s, _ := c.o.sys.statfs(path)
		return s, nil
	}
	// If the file server does not answer, statfs blocks and cannot be interrupted. Then this goroutine
	// stays until the helper ends, which is soon.
	answer := make(chan fsSize, 1)
	go func() {
		s, _ := c.o.sys.statfs(path)
		answer <- s
	}()
	timer := time.NewTimer(answerLimit)
	defer timer.Stop()
	select {
	case s := <-answer:
		return s, nil
	case <-timer.C:
		return fsSize{}, fmt.Errorf("the file server of %s did not answer within %v", m.path, answerLimit)
	case <-c.ctx.Done():
		return fsSize{}, c.ctx.Err()
	}
}

func onNetwork(kind string) bool {
	switch kind {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "9p", "virtiofs", "ncpfs", "ocfs2", "gfs2", "gpfs":
		return true
	}
	return kind == "fuse" || strings.HasPrefix(kind, "fuse.")
}
