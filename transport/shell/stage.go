package shell

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A staging is a private directory and its content.
//
// Its script starts as few processes as possible, because they are most of the
// cost of a small script: one for the directory, one for each file, and one for
// the modes of programs. A failed program runs again to get its error text,
// because reading the text the first time would cost another process.
type staging struct {
	token string
	dir   string // path on the machine
	blobs []blob
}

// A blob is a file of a staging. Blobs are in the order in which their data is
// sent.
type blob struct {
	name string
	mode uint32 // permission bits
	size int64
}

func (s *staging) path(name string) string { return strings.TrimRight(s.dir, "/") + "/" + name }

// size returns the number of bytes that the script reads from its stdin.
func (s *staging) size() int64 {
	var n int64
	for _, b := range s.blobs {
		n += b.size
	}
	return n
}

// word returns a file's path as a shell word; $d is the directory.
func (s *staging) word(name string) string { return `"$d"/` + Quote(name) }

// stagingTools are the functions of a staging's script. $d is the directory, $z
// the token of marks. Marks go to descriptor 4.
//
//	f STEP TEXT    marks a failure and exits
//	g STEP TEXT    does the same if the directory exists, and removes it
//	q COMMAND      runs a command without its error text, and stores the text in $m if it fails
//	n FILE         creates an empty file
const stagingTools = `umask 077; f() { printf '%s#%s %s%s.\n' "$z" "$1" "$2" "$z" >&4; exit 1; }; g() { rm -rf -- "$d"; f "$@"; }; ` +
	`q() { "$@" 2>/dev/null || m=$("$@" 2>&1); }; n() { true >"$1"; }; ` + take

// steps returns the steps that create the directory with all its files.
func (s *staging) steps() []string { return append([]string{makeDir}, s.fill()...) }

const makeDir = `q mkdir -m 700 -- "$d" || f ` + stepMkdir + ` "$m"`

// open returns the beginning of a script that only stages.
func (s *staging) open() string {
	return `true 4>&2 && exec 4>&2 || exec 4>/dev/null; ` + stagingTools + `d=` + Quote(s.dir) + `; z=` + s.token
}

// script returns a command that creates the directory with all its files, or
// ends the shell that runs it. It is a separate process, so that it leaves
// nothing in that shell and uses none of that shell's functions and aliases.
func (s *staging) script() string {
	return `/bin/sh -c ` + Quote(strings.Join(append([]string{s.open()}, s.steps()...), "; ")) + ` || exit 1`
}

// maxBlock is the largest block that dd reads at once.
const maxBlock = 1 << 20

// take defines "t SIZE COUNT FILE", which appends COUNT blocks of SIZE bytes
// from stdin to a file. dd never reads more than requested, whereas other
// programs read ahead. dd also prints the number of whole blocks read and
// written (dd(1p), STDERR), so an early end of the input or a full disk is
// detected. A dd that cannot wait for a whole block refuses before it reads;
// then the block size is one byte.
const take = `t() { m=$(LC_ALL=C dd bs="$1" count="$2" iflag=fullblock 2>&1 >>"$3"); ` +
	`case $m in "$2+0 records in"*"$2+0 records out"*) return;; '') g ` + stepWrite + ` "dd was killed";; [0-9]*) g ` + stepShort + `;; *' records in'*) g ` + stepWrite + ` "$m";; esac; ` +
	`m=$(LC_ALL=C dd ibs=1 obs=65536 count="$(($1*$2))" 2>&1 >>"$3"); ` +
	`case $m in "$(($1*$2))+0 records in"*) ;; [0-9]*) g ` + stepShort + `;; *) g ` + stepWrite + ` "$m";; esac; }; `

// fill returns the steps that create the files with data from stdin.
func (s *staging) fill() []string {
	var steps []string
	if dirs := s.parents(); len(dirs) > 0 {
		steps = append(steps, `q mkdir -p -- `+strings.Join(dirs, " ")+` || g `+stepWrite+` "$m"`)
	}
	mask := uint32(0o077)
	for _, b := range s.blobs {
		if m := b.umask(); m != mask {
			mask = m
			steps = append(steps, fmt.Sprintf("umask %03o", mask))
		}
		file := s.word(b.name)
		switch {
		case b.size == 0:
			steps = append(steps, `q n `+file+` || g `+stepWrite+` "$m"`)
		default:
			if n := b.size / maxBlock; n > 0 {
				steps = append(steps, fmt.Sprintf("t %d %d %s", maxBlock, n, file))
			}
			if n := b.size % maxBlock; n > 0 {
				steps = append(steps, fmt.Sprintf("t %d 1 %s", n, file))
			}
		}
	}
	for _, m := range s.modes() {
		steps = append(steps, `q `+m.chmod()+` || g `+stepWrite+` "$m"`)
	}
	return steps
}

// changes reports whether a file gets its mode after it was written: a program,
// because no umask gives its mode, and a file that its owner cannot write to.
func (b *blob) changes() bool {
	return b.mode&0o111 != 0 || b.mode&0o200 == 0 && b.size > 0
}

// umask returns the umask with which a file is created, so that it has its mode
// from the start. A program's file starts without rights for others.
func (b *blob) umask() uint32 {
	if b.changes() {
		return 0o077
	}
	return 0o777 &^ b.mode &^ 0o111
}

// parents returns words for the directories that the blobs' names need, outer
// directories first.
func (s *staging) parents() []string {
	var dirs []string
	seen := map[string]bool{".": true}
	for _, b := range s.blobs {
		if dir := path.Dir(b.name); !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, s.word(dir))
		}
	}
	return dirs
}

// A programMode holds permission bits that a umask cannot give, and words for
// the files with these bits.
type programMode struct {
	bits  uint32
	files []string
}

func (m *programMode) chmod() string {
	return `chmod -- ` + strconv.FormatUint(uint64(m.bits), 8) + ` ` + strings.Join(m.files, " ")
}

// modes returns one programMode for each mode that occurs.
func (s *staging) modes() []*programMode {
	var modes []*programMode
	at := make(map[uint32]*programMode)
	for _, b := range s.blobs {
		if !b.changes() {
			continue // has its mode from the umask
		}
		if at[b.mode] == nil {
			at[b.mode] = &programMode{bits: b.mode}
			modes = append(modes, at[b.mode])
		}
		at[b.mode].files = append(at[b.mode].files, s.word(b.name))
	}
	return modes
}
