package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"bolt/transport"
)

// Run runs one command as transport.Conn's Run does.
//
// A plain Line costs one exec and is read by the login shell itself; files and
// data for stdin travel behind it without waiting for an answer, unless run-as,
// a terminal or a stream of input is asked for: then after the script has said
// that it has begun. Env travels the same way and not in the line, because lines
// are seen by everybody on the machine; only names that shells do not export
// (with a dash or a dot in them, or special to a shell) are in the line, for
// env(1).
//
// A command with a stream has a second session (lifeline.go).
//
// With a Warmer, data need not wait for the answer to an exec, nor for a sudo
// that asked for nothing the last time. The command cannot tell.
func Run(ctx context.Context, s Starter, c *transport.Cmd, o Options) (transport.Status, error) {
	o.Host = cmp.Or(c.Label, o.Host)
	p, err := newPlan(c, o)
	if err != nil {
		return transport.Status{}, err
	}
	if w, ok := s.(Warmer); ok {
		if st, err, ok := p.runReady(ctx, w); ok {
			return st, err
		}
	}
	var life *lifeline
	if c.Input != nil {
		if life, err = p.tie(ctx, s); err != nil {
			return transport.Status{}, err
		}
		defer life.end()
		p.life = Quote(life.fifo)
	}
	x := p.exchange()
	if len(x.line) > maxSent {
		return transport.Status{}, tooLong()
	}
	if life != nil {
		x.input, x.stopBy = c.Input, life.cut
	}
	st, err := x.run(ctx, s)
	p.learn(x)
	if x.unproven && p.proves && runsLines(ctx, s, p.o) {
		err = nil // the proof went where its stderr goes
	}
	return p.outcome(x, st, err)
}

// learn notes whether sudo has asked, if it was sudo.
func (p *plan) learn(x *exchange) {
	if p.as.sudo() && p.o.Unasked != nil && (x.asked || x.hasBegun) {
		p.o.Unasked.learn(p.as, x.asked)
	}
}

// runsLines asks a login shell that gave no proof of a plain line for one on
// stdout, behind all that is in front of such a line: fish refuses that, with
// success.
func runsLines(ctx context.Context, s Starter, o Options) bool {
	p, err := newPlan(&transport.Cmd{Line: "exit 0"}, o)
	if err != nil {
		return false
	}
	x := p.exchange()
	x.line = strings.Join(append([]string{began(p.token, "1"), p.watcher()}, p.asLeader()...), "; ")
	x.token, x.proof, x.cut = p.token, true, ""
	_, err = x.run(ctx, s)
	return err == nil && !x.unproven
}

// outcome is what an exchange came to.
func (p *plan) outcome(x *exchange, st transport.Status, err error) (transport.Status, error) {
	switch {
	case err != nil:
		return transport.Status{}, err
	case x.failed != nil:
		return transport.Status{}, stagingError(x.failed, transport.ClassBootstrap, p.dir(), p.o.Host)
	}
	if st.Code == 126 && p.stage != nil && len(p.c.Interpreter) == 0 {
		if err := x.stderr([]byte(noexecHint(p.stage.dir))); err != nil {
			return st, nil // the command has ended; its status counts
		}
	}
	return st, nil
}

// dir is the private directory, "" for none.
func (p *plan) dir() string {
	if p.stage == nil {
		return ""
	}
	return p.stage.dir
}

func noexecHint(dir string) string {
	return "\n\nThe file system that holds " + path.Dir(dir) + " may be mounted noexec: set tmpdir to a directory from which programs may run.\n"
}

// A plan is a Cmd, turned into what goes to the machine.
type plan struct {
	c     *transport.Cmd
	o     Options
	shell dialect
	token string
	as    *escalation
	stage *staging // nil for none
	stdin string   // name of the blob that is the command's stdin, or ""
	mark  string   // name of the blob that the cleaner looks for, or ""
	block string   // the environment, as it travels
	life  string   // what the watcher reads
	grace time.Duration
	// proves: a plain line, the first on its connection for a while, is accompanied by a
	// proof, because an account's shell may run nothing and report success.
	proves bool
}

// maxLine is Linux's limit for one argument (MAX_ARG_STRLEN in execve(2)),
// which the line becomes, with room for what a dialect's quoting adds.
const maxLine = 120 << 10

func newPlan(c *transport.Cmd, o Options) (*plan, error) {
	shell, err := dialectOf(o.LoginShell)
	if err != nil {
		return nil, err
	}
	if err := validate(c); err != nil {
		return nil, err
	}
	p := &plan{c: c, o: o, shell: shell, token: newToken(), life: stdinAlive, grace: c.Grace}
	if p.grace <= 0 {
		p.grace = transport.DefaultGrace
	}
	if p.as = escalate(c.RunAs, p.token, &p.o); p.as != nil {
		p.as.tty = c.TTY
	}
	p.proves = o.unproven() && p.shell == posix && !c.TTY && p.plain()
	if len(c.Env) > 0 {
		p.block = block(strings.Join(assignments(c.Env), "\n"), p.token)
	}
	if len(c.Files) > 0 || len(c.Stdin) > 0 {
		p.addStage()
	}
	return p, nil
}

// validate refuses what no shell could be told.
func validate(c *transport.Cmd) error {
	switch {
	case (c.Line == "") == (len(c.Argv) == 0):
		return unsupported("a command needs either a line or arguments")
	case strings.Contains(c.Line+c.Dir+c.TmpDir+c.ScriptDir+c.RunAs.User+strings.Join(c.Interpreter, "")+strings.Join(c.Argv, "")+strings.Join(c.Env, ""), "\x00"):
		return unsupported("a command, its arguments and its environment cannot hold a NUL byte")
	case c.Input != nil && len(c.Stdin) > 0:
		return unsupported("a command has either data or a stream for its standard input, not both")
	case c.Input != nil && c.TTY:
		return unsupported("a command with a terminal cannot read a stream: the terminal has no end of input")
	case c.RunAs.User != "" && strings.HasPrefix(c.RunAs.User, "-"):
		return unsupported("run-as user %q is not a user name", c.RunAs.User)
	case c.ScriptDir != "" && !localName(c.ScriptDir):
		return unsupported("script-dir %q must be a name below tmpdir", c.ScriptDir)
	}
	size := len(c.Line)
	for _, a := range slices.Concat(c.Interpreter, c.Argv) {
		size += len(a) + 3
	}
	if size > maxLine {
		return tooLong()
	}
	for _, e := range c.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" || name[0] == '-' {
			return unsupported("environment entry %q is not NAME=value", name)
		}
	}
	seen := make(map[string]bool)
	for _, f := range c.Files {
		switch {
		case !localName(f.Name):
			return unsupported("staged file %q must be a path below the private directory", f.Name)
		case seen[f.Name]:
			return unsupported("staged file %q is there twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// maxSent is what the line may grow to by what we add and quote: Linux gives a
// program no argument of 128 KiB (execve(2)).
const maxSent = 127 << 10

func tooLong() *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported,
		Msg:  "the command is too long: a line and its arguments may have 120 KiB together, quotes in it counting several times",
		Hint: "Put it into a script, or its data into a file."}
}

// localName reports whether name is a clean relative path that stays below
// where it starts.
func localName(name string) bool {
	return name != "" && name != "." && !path.IsAbs(name) && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.Contains(name, "\x00")
}

// newToken is what marks begin with: nobody can guess it. It has a "%" for
// sudo's sake, see escalation.prompt.
func newToken() string { return "bolt%" + randomHex(16) }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// addStage decides what is in the private directory.
func (p *plan) addStage() {
	p.stage = &staging{token: p.token, dir: transport.PrivateDir(p.c.TmpDir, p.c.ScriptDir)}
	for _, f := range p.c.Files {
		mode := uint32(f.Mode.Perm())
		if len(p.c.Argv) > 0 && p.c.Argv[0] == "./"+f.Name && len(p.c.Interpreter) == 0 {
			mode |= 0o100
		}
		p.stage.blobs = append(p.stage.blobs, blob{name: f.Name, mode: mode, size: int64(len(f.Data))})
	}
	if len(p.c.Stdin) > 0 {
		p.stdin = ".stdin-" + randomHex(4)
		p.stage.blobs = append(p.stage.blobs, blob{name: p.stdin, mode: 0o600, size: int64(len(p.c.Stdin))})
	}
	if p.c.TTY && !p.c.KeepFiles {
		p.mark = ".mark-" + randomHex(4)
		p.stage.blobs = append(p.stage.blobs, blob{name: p.mark, mode: 0o600})
	}
}

// exchange is the session that does the plan.
func (p *plan) exchange() *exchange {
	x := &exchange{
		what:        "command",
		host:        p.o.Host,
		tty:         p.c.TTY,
		token:       p.token,
		escalation:  p.as,
		afterBegan:  p.as != nil && !p.as.silent || p.c.TTY || p.o.unproven(),
		stdout:      sink(p.c.Stdout),
		stderr:      sink(p.c.Stderr),
		stderrFirst: p.as.sudo() && !p.c.TTY && len(p.c.Stdin) == 0 && p.c.Input == nil,
		grace:       p.grace,
		proven:      p.o.Proof,
		log:         logger(&p.o),
	}
	if p.sends() {
		x.send = p.send
	}
	x.proof = p.tells()
	x.twice = x.proof && !p.c.TTY && !p.plain()
	x.line = p.script()
	switch {
	case p.as != nil:
		x.line = p.as.line(x.line)
		if p.shell != posix {
			x.line = p.shell.underSh(x.line)
		}
	case p.plain() && p.c.TTY:
		x.line, x.token = p.c.Line, ""
	case p.shell != posix || p.block != "" || p.c.TTY:
		x.line = p.shell.underSh(x.line)
	case p.plain():
		// bash shows the whole line with a syntax error in it.
		x.cut = "`" + strings.TrimSuffix(x.line, p.c.Line)
		if !x.proof {
			x.token = ""
		}
	}
	return x
}

// plain reports whether there is nothing but a line for the login shell.
func (p *plan) plain() bool {
	return p.c.Line != "" && p.as == nil && len(p.c.Env)+len(p.c.Files)+len(p.c.Stdin) == 0 && p.c.Input == nil && p.c.Dir == ""
}

// sends reports whether there is data for the script to read.
func (p *plan) sends() bool { return p.block != "" || p.stage != nil && p.stage.size() > 0 }

// tells reports whether the script says that it has begun.
func (p *plan) tells() bool {
	return p.as != nil || p.sends() || p.stage != nil || p.c.Input != nil || p.proves
}

// begins are the steps that signal the begin of the script: also on stdout,
// unless only a plain line is proven. Under sudo it is so always, since
// SUDO_COMMAND shows the script.
func (p *plan) begins() []string {
	switch {
	case !p.tells():
		return nil
	case p.c.TTY || p.plain():
		return []string{began(p.token, "2")}
	}
	return []string{beganTwice(p.token)}
}

// script is what the login shell, or the sh under it or under sudo, is told.
func (p *plan) script() string {
	var steps []string
	add := func(s ...string) { steps = append(steps, s...) }
	add(p.as.restoreLocale()...)
	raw := p.c.TTY && (p.block != "" || p.stage != nil)
	if raw {
		// Bytes must come through the terminal as they are.
		add(`_bolt_tty=$(stty -g)`, `stty raw -echo`)
	}
	if p.block != "" {
		add(untraced)
	}
	add(p.begins()...)
	if p.as != nil && !p.o.Local {
		add(`cd`)
	}
	if p.block != "" {
		add(readBlock(p.token))
	}
	switch {
	case !p.c.TTY:
		add(p.watcher())
	case p.stage != nil:
		if p.cleaned() {
			add(`trap ` + Quote(p.undo()+`exit 129`) + ` HUP`) // until the cleaner is there
		}
		add(p.stage.script())
	}
	if raw {
		add(`stty "$_bolt_tty"`)
	}
	if p.c.Dir != "" {
		dir := Quote(p.c.Dir)
		add(`cd -- ` + dir + ` 2>/dev/null || { _bolt_m=$(cd -- ` + dir + ` 2>&1); ` + p.undo() + failure(p.token, stepChdir, `$_bolt_m`, "2") + `; exit 1; }`)
	}
	if p.c.TTY {
		add(p.onTerminal())
	} else {
		add(p.asLeader()...)
	}
	return strings.Join(steps, "; ")
}

// undo removes the private directory where no watcher does it.
func (p *plan) undo() string {
	if p.stage == nil || !p.c.TTY {
		return ""
	}
	return `rm -rf -- ` + Quote(p.stage.dir) + `; `
}

// watcher starts the watcher, once the files are there.
func (p *plan) watcher() string {
	watch := watcher(p.grace, p.life)
	if p.stage != nil {
		watch = tend(p.stage, p.grace, p.c.KeepFiles, p.life)
	}
	switch {
	case p.c.Input != nil: // a failure to fill the directory is marked before
		return watch + ` || { ` + failure(p.token, stepAlive, "", "2") + `; exit 1; }`
	case p.stage != nil:
		return watch + ` || exit 1`
	}
	return watch
}

// asLeader makes the command the session's leader, in the place of the shell:
// so its exit status and its death by a signal reach us as they are, and the
// watcher cleans up behind it.
func (p *plan) asLeader() []string {
	var steps []string
	switch {
	case p.c.Input != nil: // the session's, if no start-up file has taken it away
		steps = append(steps, ownInput(p.token))
	case p.stdin != "":
		file := Quote(p.stage.path(p.stdin))
		steps = append(steps, `exec <`+file, `command rm -f -- `+file)
	default:
		steps = append(steps, `exec </dev/null`)
	}
	if p.block != "" {
		steps = append(steps, obey)
	}
	return append(steps, p.command())
}

// onTerminal runs the command below a shell that cleans up: with a terminal
// there is no watcher, because standard input never ends before all is over.
func (p *plan) onTerminal() string {
	if p.stage == nil {
		if p.block != "" {
			return obey + `; ` + p.command()
		}
		return p.command()
	}
	run := `( ` + p.command() + ` )`
	if p.block != "" {
		run = `( ` + obey + `; ` + p.command() + ` )`
	}
	if p.stdin != "" {
		run += ` <` + Quote(p.stage.path(p.stdin))
	}
	if !p.cleaned() {
		return run
	}
	return cleaner(p.grace, p.stage.dir, p.mark) + `; trap - HUP; ` + run + `; _bolt_r=$?; rm -rf -- ` + Quote(p.stage.dir) + `; exit "$_bolt_r"`
}

// cleaned reports whether a cleaner removes the private directory when the
// terminal is hung up.
func (p *plan) cleaned() bool { return p.c.TTY && p.stage != nil && !p.c.KeepFiles }

// command is the command itself: a line as the login shell or sh reads it, or
// words that are run as they are.
func (p *plan) command() string {
	prefix := "exec " + unexportable(p.c.Env)
	if p.c.Line != "" {
		switch {
		case p.as != nil || p.block != "":
			return prefix + "sh -c " + Quote(p.c.Line)
		case p.shell != posix || p.c.TTY:
			return `exec "${SHELL:-/bin/sh}" -c ` + Quote(p.c.Line)
		}
		return p.c.Line
	}
	argv := slices.Clone(p.c.Argv)
	if name, ok := strings.CutPrefix(argv[0], "./"); ok && p.staged(name) {
		argv[0] = p.stage.path(name)
	}
	return prefix + quoteWords(slices.Concat(p.c.Interpreter, argv))
}

func (p *plan) staged(name string) bool {
	return slices.ContainsFunc(p.c.Files, func(f transport.File) bool { return f.Name == name })
}

// send writes what the script reads: the environment, then the files' bytes.
func (p *plan) send(w io.Writer) error {
	var parts [][]byte
	if p.block != "" {
		parts = append(parts, []byte(p.block))
	}
	for i := range p.c.Files {
		parts = append(parts, p.c.Files[i].Data)
	}
	if p.stdin != "" {
		parts = append(parts, p.c.Stdin)
	}
	return writeAll(w, parts)
}

// writeAll writes small parts as one, so that they travel as one packet.
func writeAll(w io.Writer, parts [][]byte) error {
	const packet = 32 << 10
	var small []byte
	for _, part := range parts {
		if len(small)+len(part) <= packet {
			small = append(small, part...)
			continue
		}
		if len(small) > 0 {
			if _, err := w.Write(small); err != nil {
				return err
			}
			small = nil
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	if len(small) == 0 {
		return nil
	}
	_, err := w.Write(small)
	return err
}

// The environment travels as commands for eval, between two lines of
// their own. Its read takes them byte by byte, so that what follows stays unread.

// unexportable is the env(1) prefix for the entries that a shell cannot
// export. Their values are in the process list and, with run-as, in sudo's log.
func unexportable(env []string) string {
	var words []string
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !transport.Exportable(name) {
			words = append(words, e)
		}
	}
	if words == nil {
		return ""
	}
	return "env " + quoteWords(words) + " "
}

// assignments set what a shell can export.
func assignments(env []string) []string {
	var steps []string
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); transport.Exportable(name) {
			steps = append(steps, "export "+name+"="+Quote(value))
		}
	}
	return steps
}

func blockBegin(token string) string { return token + "<" }
func blockEnd(token string) string   { return token + ">" }

// block is steps as they travel.
func block(steps, token string) string {
	return blockBegin(token) + "\n" + steps + "\n" + blockEnd(token) + "\n"
}

// untraced keeps what is secret out of traces, and our variables out of the
// environment, if a start-up file has set such options or traps.
const untraced = `{ set +axv; case ${BASH_VERSION-} in ?*) trap - DEBUG RETURN ERR;; esac; } 2>/dev/null`

// readBlock reads a block into a variable, obey obeys it: in between other
// programs run, which are not to see it. A start-up file that has read from the
// block leaves no whole one. TMOUT would end the read: ksh93 heeds it all the
// same, and where it is read-only all do, and then what comes late is an error.
func readBlock(token string) string {
	return `_bolt_n=$(command printf '\nx'); _bolt_n=${_bolt_n%x}; ` +
		`_bolt_q() { IFS= read -r _bolt_l; }; case ${TMOUT-} in ''|0) ;; *) ! (TMOUT=) 2>/dev/null || _bolt_q() { IFS= TMOUT= read -r _bolt_l; };; esac; ` +
		`_bolt_t=` + token + `; _bolt_e=; _bolt_q; [ "$_bolt_l" = "$_bolt_t<" ] && ` +
		`while _bolt_q && [ "$_bolt_l" != "$_bolt_t>" ]; do _bolt_e=$_bolt_e$_bolt_l$_bolt_n; done && ` +
		`[ "$_bolt_l" = "$_bolt_t>" ] || { ` + failure(`"$_bolt_t"`, stepInput, "", "2") + `; exit 1; }`
}

const obey = `eval "$_bolt_e"; unset _bolt_e _bolt_l _bolt_t _bolt_n`

// sink makes a function of a writer, which may be nil.
func sink(w io.Writer) func([]byte) error {
	if w == nil {
		return func([]byte) error { return nil }
	}
	return func(p []byte) error {
		_, err := w.Write(p)
		return err
	}
}
