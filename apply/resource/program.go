package resource

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"bolt/internal/safetext"
)

// The directories of programs where Env has no PATH.
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Find returns the path of the first of these programs that the host has in its PATH, and "" if it has
// none of them. Root is not part of the path.
func (h *Host) Find(names ...string) string {
	for _, name := range names {
		for dir := range strings.SplitSeq(h.path(), ":") {
			file := path.Join(dir, name)
			info, err := os.Stat(h.Path(file))
			if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}

// path returns the PATH that a program of the host gets: the last one of Env, as with os/exec.
func (h *Host) path() string {
	for _, v := range slices.Backward(h.Env) {
		if dirs, is := strings.CutPrefix(v, "PATH="); is && dirs != "" {
			return dirs
		}
	}
	return programs
}

// Environ returns the environment for a program whose output is parsed: Env with a PATH, with the
// messages of the C locale, and with these variables.
func (h *Host) Environ(vars ...string) []string {
	env := append([]string{}, h.Env...)
	return append(append(env, "PATH="+h.path(), "LC_ALL=C", "LANGUAGE=C"), vars...)
}

// Failure returns an error if the program did not end with exit code 0: the output, on one line. The
// program is named by its last path element.
func (o *Output) Failure(program string) error {
	if o.Code == 0 {
		return nil
	}
	text := o.Stderr
	if len(strings.TrimSpace(string(text))) == 0 {
		text = o.Stdout
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-10):]
	said := safetext.Message(strings.Join(lines, "; "))
	program = path.Base(program)
	return fmt.Errorf("%s: exit code %d: %s", program, o.Code, cmp.Or(strings.TrimPrefix(said, program+": "), "it printed nothing"))
}
