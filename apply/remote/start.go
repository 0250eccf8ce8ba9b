package remote

import "strings"

// startScript finds the state directory of the user that it runs as, checks it, and becomes the helper.
// It is for any POSIX sh, and has no single quotes, so that quoting keeps it short.
//
// Its arguments are the ID of the run, the state directory or "" (a relative path is below the
// directory in which sessions start), the digest of the helper for
// each architecture, the name of a file that has just arrived or "", and the arguments of the
// helper. If there is no helper to start, it prints a line with the reason and one with the
// directory.
//
// If another user could write to a component of the path, that user could replace the helper, and root would
// run it. So each component must belong to root or to the user, and other users cannot write to it unless
// it is sticky. The parent of the state directory is resolved first, because systems have links such as
// /home. These links must belong to root or to the user, too. The directory and the helper themselves
// cannot be links.
const startScript = `t=$1 d=$2 a=$3 b=$4 n=$5; shift 5; i=$(umask); umask 077
x() { printf "%s-cannot %s %s\n%s\n" bolt "$t" "$1" "$d"; exit 4; }
k=$(uname -sm) u=$(id -u)
case $k in "Linux x86_64") s=$a;; "Linux aarch64") s=$b;; *) s=;; esac
[ "$s" ] || x "system $k"
if [ -z "$d" ]; then if [ "$u" = 0 ]; then d=/var/lib/bolt; else
d=$HOME; [ -O "$d" ] || { w=$(id -un); case $w in *[!A-Za-z0-9._-]*) ;; *) eval "d=~$w";; esac; }
[ -d "$d" ] || x home; d=$d/.cache/bolt; [ -d "${d%/*}" ] || m=$(mkdir "${d%/*}" 2>&1) || [ -d "${d%/*}" ] || x "make $m"; fi; fi
case $d in (/*) ;; (*) d=$(pwd -P)/$d;; esac
c=${d%/*}; q=$(cd -P "$c/" 2>/dev/null && pwd -P) || x "make there is no directory $c"; d=${q%/}/${d##*/}
[ ! -h "$d" ] || x link
v() { set --; [ ! -d "$d" ] || set -- "$d"; for p in "$c" "$q"; do while [ "$p" ]; do set -- "$p" "$@"; p=${p%/*}; done; done; ls -ldn / "$@"; }
e=$(v 2>&1 | while read -r m l o g; do case $o in (0|$u) ;; (*) echo "owner $m $l $o $g";; esac; case $m in (l*|d????-??-*|d????????[tT]*) ;; (*) echo "open $m $l $o $g";; esac; done)
[ -z "$e" ] || x "$e"
[ -d "$d" ] || m=$(mkdir "$d" 2>&1) || [ -d "$d" ] || x "make $m"
[ -O "$d" ] || x owner
f=$d/helper-$s; [ -z "$n" ] || f=$d/$n
[ -f "$f" ] && [ ! -h "$f" ] && [ -O "$f" ] && [ -x "$f" ] && umask "$i" && exec "$f" --dir "$d" "$@"
[ -z "$n" ] || x exec
f=$d/try-$t; { printf "#!/bin/sh\n" >"$f" && chmod 700 "$f"; } 2>/dev/null || { rm -f "$f"; x write; }
m=$("$f" 2>&1); r=$?; rm -f "$f"; [ "$r" = 0 ] || x "exec $m"
x "absent $k"`

// cannotPrefix is how the line of startScript begins.
func cannotPrefix(run string) string { return "bolt-cannot " + run + " " }

// A cannot is why startScript did not start the helper.
type cannot struct {
	kind   string
	detail string
	dir    string
}

// parseCannot finds the lines of startScript in output; nil if they are not there.
func parseCannot(output, run string) *cannot {
	at := strings.Index(output, cannotPrefix(run))
	if at < 0 {
		return nil
	}
	text := output[at+len(cannotPrefix(run)):]
	first, rest, _ := strings.Cut(text, "\n")
	// Reasons can have several lines; the directory is the last one.
	lines := strings.Split(strings.TrimRight(rest, "\n"), "\n")
	c := &cannot{dir: lines[len(lines)-1]}
	c.kind, c.detail, _ = strings.Cut(first, " ")
	return c
}

// systems maps the output of uname(1) to the names of helpers.
func systems() map[string]string {
	return map[string]string{"Linux x86_64": "linux-amd64", "Linux aarch64": "linux-arm64"}
}
