package shell

// A shell that was started ahead must be what a new session would be. These
// are the proofs of it, as text for the login shell itself. They start no
// process, so that a shell can give them again when it is to be used.
//
//   - The account's shell is the one that runs this, started by sshd itself (a
//     wrapper that records commands, a restricted or forced one, would not see
//     them any more): SHELL, the name that sshd gave it, the entry in
//     /etc/passwd, if there is one, and the parent say so. A forced command that
//     becomes the same shell under the same name, and hides what it was for, is
//     not to be told from it.
//   - Its start-up files have no effect, now as when it started. They are
//     read for each proof: only a missing file, one of nothing but comments,
//     and one that begins with a known way to say "not for scripts" count.
//     bash(1) reads them for sshd's sake below SHLVL 2 ("Invocation"); zsh
//     always reads some, so it never proves anything; dash(1), mksh(1), ksh(1)
//     and busybox read none.
//   - A session would start in this directory: the home directory is still
//     the same one under the same name.
//   - sshd would run nothing before and refuse nothing (sshd(8), "LOGIN
//     PROCESS" and "SSHRC").
//
// What a machine cannot tell (no /proc, an unknown shell) is not proven.

// proving is the line of a shell that is to prove something: nothing where
// functions may be in place of the builtins that it rests on. bash tells whether
// there are any.
func proving(script string) string {
	return `case ${BASH_VERSION-} in ?*) compgen -A function;; *) false;; esac || { ` + mayProve + bySSHD + script + `; }`
}

// mayProve ends a shell that could never prove anything, or whose options
// change how it reads or shows what it runs.
const mayProve = `case ${SHELL##*/} in sh|bash|dash|ash|ksh|ksh93|mksh) ;; *) exit 0;; esac; ` +
	`case $- in *[aefknuvx]*) exit 0;; esac; ` +
	`[ -z "${ZSH_VERSION-}${BASH_ENV-}${SSH_ORIGINAL_COMMAND-}" ] || exit 0; `

// bySSHD ends a shell that sshd has not started, or not as the account's.
const bySSHD = `[ "$0" = "${SHELL##*/}" ] && read -r _bolt_l <"/proc/$PPID/comm" || exit 0; ` +
	`case $_bolt_l in sshd*|dropbear*) ;; *) exit 0;; esac; ` +
	`_bolt_x=1; while [ "$_bolt_x" ]; do ` +
	`IFS=: read -r _bolt_u _bolt_k _bolt_k _bolt_k _bolt_k _bolt_k _bolt_l || _bolt_x=; ` +
	`[ "$_bolt_u" != "${LOGNAME-}" ] || { _bolt_x=; [ "$_bolt_l" -ef "/proc/$$/exe" ] || exit 0; }; done </etc/passwd; `

// inert defines a function that tells whether a start-up file has no effect:
// the ways to end it are those of Debian, Ubuntu, Arch and Gentoo. bash
// unsets PS1 in scripts.
const inert = `_bolt_i() { [ -e "$1" ] || return 0; [ -f "$1" ] && [ -r "$1" ] || return 1; _bolt_k=0; _bolt_x=1; ` +
	`while [ "$_bolt_x" ]; do read -r _bolt_l || _bolt_x=; case $_bolt_k$_bolt_l in ` +
	`0|'0#'*) ;; '0case $- in') _bolt_k=1;; '1*i*) ;;') _bolt_k=2;; '2*) return;;') _bolt_k=3;; ` +
	`3esac|'0[ -z "$PS1" ] && return'|'0[[ $- != *i* ]] && return'|'0[[ $- == *i* ]] || return'|'0case $- in *i*) ;; *) return;; esac') return 0;; ` +
	`*) return 1;; esac; done <"$1"; [ "$_bolt_k" = 0 ]; }; `

// isFresh defines the function _bolt_ok, which tells whether this shell is
// what a new session's would be.
const isFresh = inert +
	`_bolt_ok() { _bolt_l=$PWD; while [ -n "$_bolt_l" ]; do [ ! -h "$_bolt_l" ] || return 1; ` +
	`case $_bolt_l in */*) _bolt_l=${_bolt_l%/*};; *) return 1;; esac; done; ` +
	`[ . -ef "$HOME" ] && [ "$PWD" -ef . ] && [ -x . ] && ` +
	`[ "$SHELL" -ef "/proc/$$/exe" ] && [ ! -e /etc/nologin ] && ` +
	`[ ! -e /etc/ssh/sshrc ] && [ ! -e "$HOME/.ssh/rc" ] && [ ! -e "$HOME/.ssh/environment" ] && ` +
	`{ [ -z "${BASH_VERSION-}" ] || [ "$SHLVL" -gt 1 ] || { ` +
	`_bolt_i /etc/bash.bashrc && _bolt_i /etc/bashrc && _bolt_i /etc/bash/bashrc && _bolt_i "$HOME/.bashrc"; }; }; }; `

// A Warmer is a Starter that keeps a shell which was started ahead.
type Warmer interface {
	Starter
	// Ready hands over a session whose shell has run ReadyLine as far as its
	// mark; nil if there is none. It does not wait. taken is called at the
	// end and told whether the shell has taken the script.
	Ready() (s Session, taken func(bool))
}
