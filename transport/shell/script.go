package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// These scripts are for any POSIX sh (dash, bash, busybox, ksh, zsh, mksh).
// Scripts for the command's own shell have no line ends, so that "line 1" in
// its messages stays line 1.

// watcher returns the command that starts the watcher, a process that kills the
// session's processes when bolt stops the command or is gone. The watcher reads
// the session's standard input until it ends. It ends when bolt closes it, when
// the connection is lost, and when bolt is killed.
//
// If the leader (the process that the session started) has ended before, the
// watcher does nothing more. So a daemon that a command has left behind stays.
// Otherwise the process group gets TERM, and KILL after grace. sshd makes each
// session's process the leader of its own group, and so does transport/local.
//
// The watcher is a separate shell, two levels below the login shell. A subshell
// would be a child of the login shell: the command's "wait" would wait for it
// (ksh93), or it would hold copies of the session's output open (mksh). A
// subshell also has the command line of the login shell with the command's
// arguments, so "pgrep -f" in the command would find it. So the command waits
// until the separate shell has started, which takes about as long as a small
// command.
//
// If there is a private directory, tending starts the watcher. With a lifeline,
// the watcher reads the lifeline instead, and must be able to open it.
func watcher(grace time.Duration, life string) string {
	script := alive + watch + `a "$1" || exit; kill -TERM 0; ` + sleepFor(grace) + `; kill -KILL 0 ) &`
	return `/bin/sh -c ` + Quote(script) + ` sh $$ >/dev/null 2>&1 3<` + life
}

// tending is the script of a shell that fills a private directory and then
// starts a watcher. The watcher removes the directory when the leader has
// ended. It keeps the session's stderr open until then, so that the session
// does not end before everything is removed. If the directory cannot be filled,
// the script ends with status 1.
//
// Its arguments are: the leader, the directory, the token of marks, the steps
// that fill the directory, the grace in tenths of a second, a word if the
// directory must stay, and a word if there is a lifeline. With a lifeline, the
// session must end before the watcher does. Descriptor 0 is the session's
// stdin, 3 the watcher's input, 4 the session's stderr.
const tending = stagingTools + `d=$2; z=$3; eval "$4"; ` + alive + watchFrom + `[ -z "$7" ] || exec 4>/dev/null; ` + watchTo +
	`k=; if a "$1"; then k=1; kill -TERM 0; n=$5; ` +
	`while [ "$n" -gt 0 ] && a "$1"; do n=$((n-1)); sleep 0.1 || { sleep 1; n=$((n-9)); }; done; fi; ` +
	`[ -n "$6" ] || rm -rf -- "$d" || m=$(rm -rf -- "$d" 2>&1) || printf '%s#` + stepClean + ` %s%s.\n' "$z" "$m" "$z" >&4; ` +
	`exec 4>&-; [ -n "$k" ] || exit; [ "$n" -le 0 ] || sleep $(( (n+9)/10 )); kill -KILL 0 ) &`

// tend returns the command that runs tending. A start-up file may have closed
// descriptors that the watcher needs.
func tend(st *staging, grace time.Duration, keep bool, life string) string {
	stay := ` ''`
	if keep {
		stay = ` 1`
	}
	if life != stdinAlive {
		stay += ` 1`
	}
	return `true 3<&0 || exec </dev/null; true 3>&2 || exec 2>/dev/null; /bin/sh -c ` + Quote(tending) +
		` sh $$ ` + Quote(st.dir) + ` ` + st.token + ` ` + Quote(strings.Join(st.steps(), "; ")) + ` ` +
		strconv.Itoa(int(grace/(100*time.Millisecond))) + stay + ` 4>&2 >/dev/null 2>&1 3<` + life
}

// stdinAlive is the input of a watcher without a lifeline.
const stdinAlive = `&0`

// watch starts the watcher's subshell, which ignores signals to the group from
// its first moment, and waits for the end of its input. If a start-up file has
// replaced the input by an empty one, it waits for the end of the leader. TMOUT
// would end the read of bash and ksh.
const (
	watch     = watchFrom + watchTo
	watchFrom = `trap "" TERM HUP INT; ( `
	watchTo   = `[ /dev/fd/3 -ef /dev/null ] && while a "$1"; do sleep 1; done; ` +
		`TMOUT=; while read -r l; do :; done <&3; `
)

// cleaner returns the command that starts the process for hang-ups. If the
// leader was hung up before it could remove its private directory, that process
// removes the directory and ends the rest of the process group. The file mark
// shows that the directory is still the same.
//
// A closed terminal hangs up only the leader, and all other processes when the
// leader has ended. So the leader cannot catch the signal and clean up.
func cleaner(grace time.Duration, dir, mark string) string {
	// A signal that is ignored before the fork is ignored in the child from the
	// first moment.
	script := alive + `trap "" HUP; ( while a "$1"; do sleep 1; done; [ -e "$2/$3" ] || exit; ` +
		`trap "" TERM; kill -TERM 0; rm -rf -- "$2"; ` + sleepFor(grace) + `; kill -KILL 0 ) &`
	return `/bin/sh -c ` + Quote(script) + ` sh $$ ` + Quote(dir) + ` ` + mark + ` </dev/null >/dev/null 2>&1`
}

// alive defines a function that reports whether a process exists, also if it
// belongs to another user.
const alive = `a() { kill -0 "$1" || [ -e "/proc/$1" ]; }; `

// sleepFor returns a command that sleeps for d. If the machine's sleep does not
// accept fractions of a second, it sleeps for at least d.
func sleepFor(d time.Duration) string {
	whole := int((d + time.Second - 1) / time.Second)
	if d == time.Duration(whole)*time.Second {
		return "sleep " + strconv.Itoa(whole)
	}
	return fmt.Sprintf("sleep %.3f || sleep %d", d.Seconds(), whole)
}

// These are the steps of a script that can fail; a stepMark contains their
// names.
const (
	stepMkdir = "mkdir" // create the private directory
	stepWrite = "write" // write its content
	stepShort = "short" // less data arrived than announced
	stepChdir = "chdir" // enter the working directory
	stepMove  = "move"  // move to the destination
	stepNoTar = "notar" // the machine has no tar
	stepClean = "clean" // the private directory could not be removed
	stepInput = "input" // standard input differs from the sent data
	stepAlive = "alive" // the lifeline cannot be read
)

// failure returns a command that marks a step as failed on descriptor fd.
// message is the content of a quoted shell word and is expanded.
func failure(token, step, message, fd string) string {
	return `printf '%s#` + step + ` %s%s.\n' ` + token + ` "` + message + `" ` + token + ` >&` + fd
}

// began returns a command that reports on descriptor fd that the script has
// begun. A start-up file may have defined a function with the name printf.
func began(token, fd string) string { return `command printf '%s!\n' ` + token + ` >&` + fd }

// taken returns a command that prints a mark on standard error. The output before the mark
// is not output of the program that changes the user.
func taken(token string) string { return `printf '%s+\n' ` + token + ` >&2` }

// beganTwice returns a command that reports the begin on stdout and stderr.
func beganTwice(token string) string { return began(token, "2") + `; ` + began(token, "1") }
