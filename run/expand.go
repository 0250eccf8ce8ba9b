package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"bolt/event"
	"bolt/transport"
)

// patternChars make a path a pattern.
const patternChars = "*?["

const (
	// maxMatches is the number of paths that a pattern can match on a target. Each
	// path is a separate transfer.
	maxMatches = 10_000
	// maxMatchBytes is the size of these paths together, which are held in memory.
	maxMatchBytes = 1 << 20
)

// expandScript expands $1 on a target. It prints two NULs, a line "path" or "pattern",
// and the paths, each followed by a NUL. A path that exists is not expanded. The shell
// expands $1 as a variable, so that nothing in it can be run; the script checks the
// name of a user before it passes the name to eval. The directories . and .. match no
// pattern, because some shells would return them for .*
const expandScript = `
is() { [ -e "$1" ] || [ -L "$1" ]; }
one() { printf '\0\0path\n%s\0' "$1"; exit; }
is "$1" && one "$1"
home= rest=$1
case $1 in '~'*)
	user=${1%%/*}
	rest=${1#"$user"}
	user=${user#'~'}
	case $user in
	'') home=$HOME ;;
	*[!A-Za-z0-9._-]*) ;;
	*) eval "home=~$user"; case $home in '~'*) home= ;; esac ;;
	esac
	[ "$home" ] || rest=$1 ;;
esac
is "$home$rest" && one "$home$rest"
case $rest in *[*?[]*) ;; *) one "$home$rest" ;; esac
printf '\0\0pattern\n'
IFS=
for f in "$home"$rest; do
	case $f in . | .. | */. | */..) continue ;; esac
	is "$f" && printf '%s\0' "$f"
done
exit 0
`

// expand expands a path on the target and reports whether it is a pattern.
func (site *Site) expand(ctx context.Context, source string) (paths []string, pattern bool, err error) {
	if !strings.ContainsAny(source, patternChars) && !strings.HasPrefix(source, "~") || strings.Contains(source, "\x00") {
		return []string{source}, false, nil
	}
	if site.Settings.PowerShell {
		if strings.ContainsAny(source, "*?") { // no file name contains them there
			return nil, false, &transport.Error{Class: transport.ClassUnsupported,
				Msg:  fmt.Sprintf("The pattern '%s' cannot be expanded on %s: this requires a POSIX shell on the target.", source, site.Target.SafeName()),
				Hint: "Download the directory, or each file by its name."}
		}
		return []string{source}, false, nil
	}
	var out, said limited
	out.most, said.most = maxMatchBytes, maxSaid
	cmd := site.Command()
	cmd.TTY = false
	cmd.Argv, cmd.Stdin = []string{"sh", "-s", "--", source}, []byte(expandScript)
	cmd.Stdout, cmd.Stderr = &out, &said
	status, err := site.Conn.Run(ctx, cmd)
	if err != nil {
		return nil, false, err
	}
	if !status.OK() {
		err = fmt.Errorf("the shell ended with exit code %d: %s", status.Code, strings.TrimSpace(strings.ToValidUTF8(string(said.data), "\uFFFD")))
	} else {
		paths, pattern, err = parseMatches(string(out.data), out.more)
	}
	if err != nil {
		return nil, false, site.noSource(source, err)
	}
	return paths, pattern, nil
}

// parseMatches parses the output of expandScript. cut is set if the output was cut.
func parseMatches(out string, cut bool) (paths []string, pattern bool, err error) {
	_, answer, _ := strings.Cut(out, "\x00\x00") // start-up files of the shell may print, too
	kind, list, ok := strings.Cut(answer, "\n")
	pattern = kind == "pattern"
	switch {
	case !ok || !pattern && kind != "path":
		return nil, false, errors.New("the output of the shell on the target cannot be parsed")
	case list == "":
		return nil, true, errors.New("no file matches the pattern")
	}
	paths = strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	switch {
	case cut || len(paths) > maxMatches:
		return nil, pattern, fmt.Errorf("more than %d files or %d MiB of names match the pattern", maxMatches, maxMatchBytes>>20)
	case !pattern:
		return paths[:1], false, nil
	}
	names := make(map[string]string, len(paths))
	for _, p := range paths {
		name := path.Base(p)
		if name == "." || name == ".." || name == "/" {
			return nil, true, fmt.Errorf("the pattern matches %s, which is not a file name", p)
		}
		if other, taken := names[name]; taken {
			return nil, true, fmt.Errorf("%s and %s would both be written to the file %s", other, p, name)
		}
		names[name] = p
	}
	return paths, true, nil
}

// maxNamed is the number of copied files that a message names.
const maxNamed = 10

// nameCopied adds the files that a transfer copied before it failed. The message names
// the last files, the details name all.
func nameCopied(e *event.Error, files []string) {
	if len(files) == 0 {
		return
	}
	names := "'" + strings.Join(files[max(0, len(files)-maxNamed):], "', '") + "'"
	if more := len(files) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d before them", more)
	}
	e.Msg += "\nCopied before the failure: " + names
	list := make([]any, len(files))
	for i, f := range files {
		list[i] = f
	}
	e.Details.Set("copied", list)
}

func (site *Site) noSource(source string, err error) error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err,
		Msg: fmt.Sprintf("Could not download '%s' from %s: %v", source, site.Target.SafeName(), err)}
}

// limited stores the beginning of a stream.
type limited struct {
	data []byte
	most int
	more bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.most-len(l.data))
	l.data, l.more = append(l.data, p[:n]...), l.more || n < len(p)
	return len(p), nil
}
