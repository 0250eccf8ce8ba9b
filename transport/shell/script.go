package shell

import (
	"fmt"
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
// copies of the session's output open (mksh). It also has the command line of the login
// shell, with the words of the command, and "pgrep -f" in the command would find it. So
// the command waits until this shell has started, which takes a slow machine about as
// long as a small command.
//
// Where there is a private directory, tending starts it. With a lifeline, it reads
// that instead, and must be able to.
func watcher(grace time.Duration, life string) string {
	script := alive + watch + `a "$1" || exit; kill -TERM 0; ` + sleepFor(grace) + `; kill -KILL 0 ) &`
	return `/bin/sh -c ` + Quote(script) + ` sh $$ >/dev/null 2>&1 3<` + life
}

// tending is the script of a shell that fills a private directory, and then
// starts a watcher that removes it when the leader is gone; it keeps the
// session's stderr open until then, so that the session has not ended before
// all is clean. If the directory cannot be filled, it ends with status 1.
//
// Its arguments are the leader, the directory, the token of marks, the steps that
// fill it, the grace in tenths of a second, a word if it is to stay, and one if
// there is a lifeline: then the session must end before the watcher does. The
// session's stdin is 0, what the watcher reads 3, the session's stderr 4.
const tending = stagingTools + `d=$2; z=$3; eval "$4"; ` + alive + watchFrom + `[ -z "$7" ] || exec 4>/dev/null; ` + watchTo +
	`k=; if a "$1"; then k=1; kill -TERM 0; n=$5; ` +
	`while [ "$n" -gt 0 ] && a "$1"; do n=$((n-1)); sleep 0.1 || { sleep 1; n=$((n-9)); }; done; fi; ` +
	`[ -n "$6" ] || rm -rf -- "$d" || m=$(rm -rf -- "$d" 2>&1) || printf '%s#` + stepClean + ` %s%s.\n' "$z" "$m" "$z" >&4; ` +
	`exec 4>&-; [ -n "$k" ] || exit; [ "$n" -le 0 ] || sleep $(( (n+9)/10 )); kill -KILL 0 ) &`

// tend runs tending. A start-up file may have closed what the watcher is to have.
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

// watch begins the watcher's subshell, which no signal to the group ends, from
// its first moment on, and waits for the end of its input. Where a start-up file
// has put an empty one in its place, it waits for the end of the leader. TMOUT
// would end the read of bash and ksh.
const (
	watch     = watchFrom + watchTo
	watchFrom = `trap "" TERM HUP INT; ( `
	watchTo   = `[ /dev/fd/3 -ef /dev/null ] && while a "$1"; do sleep 1; done; ` +
		`TMOUT=; while read -r l; do :; done <&3; `
)

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
	stepAlive = "alive" // the lifeline cannot be read
)

// failure is a command that marks a step as failed on descriptor fd. message
// is a shell word's inside, to be expanded.
func failure(token, step, message, fd string) string {
	return `printf '%s#` + step + ` %s%s.\n' ` + token + ` "` + message + `" ` + token + ` >&` + fd
}

// began is a command that says on descriptor fd that the script has begun. A
// start-up file may have a function of printf's name.
func began(token, fd string) string { return `command printf '%s!\n' ` + token + ` >&` + fd }

// taken is a command that prints a mark on standard error. The output before the mark
// is not output of the program that changes the user.
func taken(token string) string { return `printf '%s+\n' ` + token + ` >&2` }

// beganTwice is one that says so on stdout and stderr.
func beganTwice(token string) string { return began(token, "2") + `; ` + began(token, "1") }
