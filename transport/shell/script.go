package shell

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// The scripts here are for any POSIX sh (dash, bash, busybox, ksh, zsh, mksh).
// They are one line each where the command's own shell reads them, so that
// "line 1" in its messages stays line 1.

// watcher starts the process that ends everything when our side is gone or
// wants an end: it reads the session's standard input to its end, which comes
// when we close it, when the connection is lost, and when bolt is killed.
//
// If the leader (the process that the session started) has ended before,
// nothing more is done, so that a daemon which a command left behind stays.
// Otherwise the process group gets TERM, and KILL after grace. sshd makes each
// session's process the leader of a group of its own, and so does
// transport/local.
//
// It is a shell of its own, twice removed: a subshell of the login shell would
// be its child, and the command's "wait" would wait for it (ksh93), or hold
// copies of the session's output open (mksh).
//
// With a directory to remove, it removes it when the leader is gone, and keeps
// the session's stderr open until then, so that the session has not ended
// before all is clean.
func watcher(grace time.Duration, dir, token string) string {
	if dir == "" {
		script := alive + watch + `a "$1" || exit; kill -TERM 0; ` + sleepFor(grace) + `; kill -KILL 0 ) &`
		return `/bin/sh -c ` + Quote(script) + ` sh $$ 3<&0 >/dev/null 2>&1`
	}
	step := failure(token, stepClean, `$m`, "4")
	script := alive + watch + `k=; if a "$1"; then k=1; kill -TERM 0; ` +
		`n=` + strconv.Itoa(int(grace/(100*time.Millisecond))) + `; ` +
		`while [ "$n" -gt 0 ] && a "$1"; do n=$((n-1)); sleep 0.1 || { sleep 1; n=$((n-9)); }; done; fi; ` +
		`m=$(rm -rf -- "$2" 2>&1) || ` + step + `; exec 4>&-; [ -n "$k" ] || exit; ` +
		`[ "$n" -le 0 ] || sleep $(( (n+9)/10 )); kill -KILL 0 ) &`
	// A start-up file may have closed what the watcher is to have.
	return `true 3<&0 || exec </dev/null; true 3>&2 || exec 2>/dev/null; ` +
		`/bin/sh -c ` + Quote(script) + ` sh $$ ` + Quote(dir) + ` 3<&0 4>&2 >/dev/null 2>&1`
}

// watch begins the watcher's subshell, which no signal to the group ends, from
// its first moment on, and waits for the end of its input. Where a start-up file
// has put an empty one in its place, it waits for the end of the leader. TMOUT
// would end the read of bash and ksh.
const watch = `trap "" TERM HUP INT; ( [ /dev/fd/3 -ef /dev/null ] && while a "$1"; do sleep 1; done; ` +
	`TMOUT=; while read -r l; do :; done <&3; `

// cleaner starts the process that removes a private directory when the leader
// has been hung up before it could do so itself, and ends what is left of the
// process group. The file mark in the directory tells that it is still the one
// that was meant.
//
// A closed terminal hangs up the leader alone, and everything else when the
// leader has gone; so the leader cannot catch the signal and go on to clean up.
func cleaner(grace time.Duration, dir, mark string) string {
	// What is ignored before the fork is ignored from the first moment on.
	script := alive + `trap "" HUP; ( while a "$1"; do sleep 1; done; [ -e "$2/$3" ] || exit; ` +
		`trap "" TERM; kill -TERM 0; rm -rf -- "$2"; ` + sleepFor(grace) + `; kill -KILL 0 ) &`
	return `/bin/sh -c ` + Quote(script) + ` sh $$ ` + Quote(dir) + ` ` + mark + ` </dev/null >/dev/null 2>&1`
}

// alive defines a function that tells whether a process is there, be it
// another user's.
const alive = `a() { kill -0 "$1" || [ -e "/proc/$1" ]; }; `

// sleepFor waits on machines whose sleep knows fractions of a second, and on
// the others for at least as long.
func sleepFor(d time.Duration) string {
	whole := int((d + time.Second - 1) / time.Second)
	if d == time.Duration(whole)*time.Second {
		return "sleep " + strconv.Itoa(whole)
	}
	return fmt.Sprintf("sleep %.3f || sleep %d", d.Seconds(), whole)
}

// The steps of a script that can fail, as a stepMark names them.
const (
	stepMkdir = "mkdir" // the private directory
	stepWrite = "write" // what belongs into it
	stepShort = "short" // less came than was promised
	stepChdir = "chdir" // the working directory
	stepMove  = "move"  // to the destination
	stepNoTar = "notar" // there is no tar
	stepClean = "clean" // the private directory stays behind
	stepInput = "input" // standard input is not as it was sent
)

// failure is a command that marks a step as failed on descriptor fd. message
// is a shell word's inside, to be expanded.
func failure(token, step, message, fd string) string {
	return `printf '%s#` + step + ` %s%s.\n' ` + token + ` "` + message + `" ` + token + ` >&` + fd
}

// began is a command that says on descriptor fd that the script has begun. A
// start-up file may have a function of printf's name.
func began(token, fd string) string { return `command printf '%s!\n' ` + token + ` >&` + fd }

// beganTwice is one that says so on stdout and stderr.
func beganTwice(token string) string { return began(token, "2") + `; ` + began(token, "1") }

// A staging is a private directory and what shall be in it.
type staging struct {
	token string
	dir   string // as the machine sees it
	blobs []blob
}

// A blob is a file of a staging, in the order in which its bytes come.
type blob struct {
	name string
	mode uint32 // permission bits
	size int64
}

func (s *staging) path(name string) string { return strings.TrimRight(s.dir, "/") + "/" + name }

// size is the number of bytes that the script reads from its stdin.
func (s *staging) size() int64 {
	var n int64
	for _, b := range s.blobs {
		n += b.size
	}
	return n
}

// open begins a subshell's script: the private directory is made, and from
// then on "g STEP MESSAGE" removes it, marks the failure and exits. $d is the
// directory.
func (s *staging) open() []string {
	return []string{
		`umask 077`,
		`d=` + Quote(s.dir),
		`f() { printf '%s#%s %s%s.\n' ` + s.token + ` "$1" "$2" ` + s.token + ` >&2; exit 1; }`,
		`g() { rm -rf -- "$d"; f "$@"; }`,
		`m=$(mkdir -m 700 -- "$d" 2>&1) || f ` + stepMkdir + ` "$m"`,
	}
}

// fill reads the blobs from stdin. One process reads them all, because one
// that reads ahead (busybox's head) would take what the next one needs;
// nothing follows them but the end of the file.
func (s *staging) fill() []string {
	var steps []string
	for _, dir := range s.parents() {
		steps = append(steps, `m=$(mkdir -p -- `+Quote(s.path(dir))+` 2>&1) || g `+stepWrite+` "$m"`)
	}
	var full []blob
	for _, b := range s.blobs {
		if b.size == 0 {
			steps = append(steps, `m=$({ : >`+Quote(s.path(b.name))+`; } 2>&1) || g `+stepWrite+` "$m"`)
		} else {
			full = append(full, b)
		}
	}
	if len(full) == 1 {
		steps = append(steps, s.take("head -c "+strconv.FormatInt(full[0].size, 10), full[0])...)
	} else if len(full) > 1 {
		all := blob{name: ".payload-" + s.token[:8], size: s.size()}
		steps = append(steps, s.take("head -c "+strconv.FormatInt(all.size, 10), all)...)
		var at int64 = 1
		for _, b := range full {
			cut := fmt.Sprintf("tail -c +%d <%s | head -c %d", at, Quote(s.path(all.name)), b.size)
			steps = append(steps, s.take(cut, b)[0]) // what it is cut from has been checked
			at += b.size
		}
		steps = append(steps, `rm -f -- `+Quote(s.path(all.name)))
	}
	return append(steps, s.modes()...)
}

// take writes a command's output to a blob and checks that it is all there:
// neither a full disk nor the end of the input makes every head fail.
func (s *staging) take(command string, b blob) []string {
	file := Quote(s.path(b.name))
	return []string{
		`m=$(` + command + ` 2>&1 >` + file + `) || g ` + stepWrite + ` "$m"`,
		`[ "$(wc -c <` + file + `)" -eq ` + strconv.FormatInt(b.size, 10) + ` ] || g ` + stepShort + ` "$m"`,
	}
}

// parents are the directories that the blobs' names need, outer ones first.
func (s *staging) parents() []string {
	var dirs []string
	seen := map[string]bool{".": true}
	for _, b := range s.blobs {
		if dir := path.Dir(b.name); !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// modes sets the permission bits, one chmod for each that occurs.
func (s *staging) modes() []string {
	var order []uint32
	names := make(map[uint32][]string)
	for _, b := range s.blobs {
		if b.mode == 0o600 {
			continue // as the umask made it
		}
		if names[b.mode] == nil {
			order = append(order, b.mode)
		}
		names[b.mode] = append(names[b.mode], Quote(s.path(b.name)))
	}
	steps := make([]string, 0, len(order))
	for _, mode := range order {
		steps = append(steps, fmt.Sprintf(`m=$(chmod %o -- %s 2>&1) || g %s "$m"`, mode, strings.Join(names[mode], " "), stepWrite))
	}
	return steps
}

// script is a command that makes the directory with all its files, or ends
// the shell that runs it. It is a process of its own, so that nothing of it is
// left in that shell, and no function or alias of that shell is in it.
func (s *staging) script() string {
	return `/bin/sh -c ` + Quote(strings.Join(append(s.open(), s.fill()...), "; ")) + ` || exit 1`
}
