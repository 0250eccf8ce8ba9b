package remote

import "strings"

// startScript finds the state directory of the user that it runs as, checks it, and becomes the helper.
// It is for any POSIX sh, and has no single quotes, so that quoting keeps it short: it travels with each run. The
// name "bolt" of the line that it prints is apart, so that a shell that prints its script does not print that line.
//
// Its arguments are the ID of the run, the state directory or "" (a relative path is below the
// directory in which sessions start), the digest of the helper for
// each architecture, the name of a file that has just arrived or "", and the arguments of the
// helper. If it cannot start the helper, it prints a line with the reason and a line with the directory.
//
// If another user could write to a component of the path, that user could replace the helper, and root would
// run it. So each component must belong to root or to the user, and other users cannot write to it unless
// it is sticky. The parent of the state directory is resolved first, because systems have links such as
// /home. These links must also belong to root or to the user. The directory and the helper themselves
// cannot be links.
const startScript = `run=$1 dir=$2 amd64=$3 arm64=$4 new=$5
shift 5
mask=$(umask)
umask 077
cannot() { printf "%s-cannot %s %s\n%s\n" bolt "$run" "$1" "$dir"; exit 4; }
system=$(uname -sm) user=$(id -u)
case $system in "Linux x86_64") sum=$amd64;; "Linux aarch64") sum=$arm64;; *) sum=;; esac
[ "$sum" ] || cannot "system $system"
if [ -z "$dir" ] && [ "$user" = 0 ]; then
 dir=/var/lib/bolt
elif [ -z "$dir" ]; then
 dir=$HOME
 [ -O "$dir" ] || { name=$(id -un); case $name in *[!A-Za-z0-9._-]*) ;; *) eval "dir=~$name";; esac; }
 [ -d "$dir" ] || cannot home
 cache=$dir/.cache dir=$dir/.cache/bolt
 [ -d "$cache" ] || why=$(mkdir "$cache" 2>&1) || [ -d "$cache" ] || cannot "make $why"
fi
case $dir in (/*) ;; (*) dir=$(pwd -P)/$dir;; esac
parent=${dir%/*}
real=$(cd -P "$parent/" 2>/dev/null && pwd -P) || cannot "make the directory $parent does not exist"
dir=${real%/}/${dir##*/}
[ ! -h "$dir" ] || cannot link
components() {
 set --
 [ ! -d "$dir" ] || set -- "$dir"
 for above in "$parent" "$real"; do
  while [ "$above" ]; do set -- "$above" "$@"; above=${above%/*}; done
 done
 ls -ldn / "$@"
}
unsafe=$(components 2>&1 | while read -r mode links owner rest; do
 case $owner in (0|$user) ;; (*) echo "owner $mode $links $owner $rest";; esac
 case $mode in (l*|d????-??-*|d????????[tT]*) ;; (*) echo "open $mode $links $owner $rest";; esac
done)
[ -z "$unsafe" ] || cannot "$unsafe"
[ -d "$dir" ] || why=$(mkdir "$dir" 2>&1) || [ -d "$dir" ] || cannot "make $why"
[ -O "$dir" ] || cannot owner
file=$dir/${new:-helper-$sum}
[ -f "$file" ] && [ ! -h "$file" ] && [ -O "$file" ] && [ -x "$file" ] && umask "$mask" && exec "$file" --dir "$dir" "$@"
[ -z "$new" ] || cannot exec
file=$dir/try-$run
{ printf "#!/bin/sh\n" >"$file" && chmod 700 "$file"; } 2>/dev/null || { rm -f "$file"; cannot write; }
why=$("$file" 2>&1)
code=$?
rm -f "$file"
[ "$code" = 0 ] || cannot "exec $why"
command -v gzip >/dev/null && system="$system gzip"
cannot "absent $system"`

// unpackScript is startScript for a new helper that is packed.
var unpackScript = strings.Replace(startScript, "file=$dir/${new:-helper-$sum}\n", `file=$dir/${new%.gz}
why=$(gzip -dc <"$dir/$new" 2>&1 >"$file" && chmod 700 "$file" 2>&1) || { rm -f "$file" "$dir/$new"; cannot "unpack $why"; }
rm -f "$dir/$new"
`, 1)

const (
	packedExt = ".gz"
	// canUnpack follows the system in the detail of kindAbsent if the machine can unpack the helper.
	canUnpack = " gzip"
)

// script returns the script for the name of a file that has just arrived, or "".
func script(name string) string {
	if strings.HasSuffix(name, packedExt) {
		return unpackScript
	}
	return startScript
}

// unpacks reports whether the machine can unpack the helper.
func unpacks(no *cannot) bool { return strings.HasSuffix(no.detail, canUnpack) }

// cannotPrefix begins the line that startScript prints.
func cannotPrefix(run string) string { return "bolt-cannot " + run + " " }

// A cannot is the reason why startScript did not start the helper.
type cannot struct {
	kind   string
	detail string
	dir    string
}

// parseCannot finds the lines of startScript in output. It returns nil if output does not have them.
func parseCannot(output, run string) *cannot {
	at := strings.Index(output, cannotPrefix(run))
	if at < 0 {
		return nil
	}
	text := output[at+len(cannotPrefix(run)):]
	first, rest, _ := strings.Cut(text, "\n")
	// A reason can have several lines. The directory is the last line.
	lines := strings.Split(strings.TrimRight(rest, "\n"), "\n")
	c := &cannot{dir: lines[len(lines)-1]}
	c.kind, c.detail, _ = strings.Cut(first, " ")
	return c
}

// systems maps the output of uname(1) to the names of helpers.
func systems() map[string]string {
	return map[string]string{"Linux x86_64": "linux-amd64", "Linux aarch64": "linux-arm64"}
}
