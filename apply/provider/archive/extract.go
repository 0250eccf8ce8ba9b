package archive

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/login"
	"bolt/apply/provider/safepath"
	"bolt/apply/resource"
	"bolt/format/ordered"
)

// extractLimit ends an extraction that hangs.
const extractLimit = 2 * time.Hour

// extraction returns the shell command that extracts the file, by the ending of its name. %s and %% of the
// parameter extract_command are the path and a percent sign.
func (x *item) extraction(f *resource.Fields) string {
	path := quote(x.path)
	flags := func(program, usual string) string {
		switch v := f.R.Params.Value("extract_flags").(type) {
		case nil:
			return usual
		case *ordered.Map:
			text, _ := v.Value(program).(string)
			return text
		default:
			text := f.Text("extract_flags", usual)
			if text == "undef" {
				return usual
			}
			return text
		}
	}
	if custom := f.Text("extract_command", ""); custom != "" {
		if strings.Contains(custom, "%s") {
			return strings.NewReplacer("%s", path, "%%", "%").Replace(custom)
		}
		return strings.Join(strings.Fields(custom+" "+flags("", "")), " ") + " " + path
	}
	ends := func(endings ...string) bool {
		for _, e := range endings {
			if strings.HasSuffix(x.path, e) {
				return true
			}
		}
		return false
	}
	switch {
	case ends(".tar"):
		return "tar " + flags("tar", "xf") + " " + path
	case ends(".tgz", ".tar.gz"):
		return "tar " + flags("tar", "xzf") + " " + path
	case ends(".tbz", ".tar.bz2"):
		return "tar " + flags("tar", "xjf") + " " + path
	case ends(".txz", ".tar.xz"):
		return "unxz " + ofPipe(f, "unxz", "-dc") + " " + path + " | tar " + flags("tar", "xf") + " -"
	case ends(".tar.Z"):
		return "uncompress -c " + path + " | tar " + flags("tar", "xf") + " -"
	case ends(".gz"):
		return "gunzip " + flags("gunzip", "-d") + " " + path
	case ends(".zip", ".war", ".jar"):
		return "unzip " + flags("zip", "-o") + " " + path
	case ends(".bz2"):
		return "bunzip2 " + flags("bunzip2", "-d") + " " + path
	}
	f.Refuse("extract_command", fmt.Sprintf("is needed, because the file type of %s is not known", x.path))
	return ""
}

// ofPipe returns the flags of the first program of a pipe. A string is for tar(1), the second program.
func ofPipe(f *resource.Fields, program, usual string) string {
	if v, is := f.R.Params.Value("extract_flags").(*ordered.Map); is {
		text, _ := v.Value(program).(string)
		return text
	}
	return usual
}

// quote returns a word of a shell command.
func quote(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+,=") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// publish lets all users read a file. It does not follow links.
func publish(path string) error {
	dir, name, err := safepath.Parent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, 0o644)
}

// unpack extracts the file.
func (x *item) unpack(ctx context.Context, h *resource.Host) error {
	if info, err := os.Stat(x.extractPath); err != nil || !info.IsDir() {
		return fmt.Errorf("the directory %s of the parameter extract_path does not exist", x.extractPath)
	}
	as, err := login.Identity(ctx, h, x.user, x.group)
	if err != nil {
		return err
	}
	if x.user != "" || x.group != "" { // the user must be able to read the file
		if err := publish(x.path); err != nil {
			return err
		}
	}
	out, err := h.Run(ctx, &resource.Command{Argv: []string{"/bin/sh", "-c", x.command}, Env: h.Environ(), Dir: x.extractPath, Timeout: extractLimit, As: as, Combined: true})
	if err != nil {
		return fmt.Errorf("extraction in %s: %w", x.extractPath, err)
	}
	program, _, _ := strings.Cut(x.command, " ")
	if err := out.Failure(program); err != nil {
		return fmt.Errorf("extraction in %s: %w", x.extractPath, err)
	}
	return nil
}
