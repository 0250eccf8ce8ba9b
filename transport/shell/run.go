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
// A plain Line costs one exec request; the login shell runs it. Files and data
// for stdin are sent after the request without waiting for an answer. With
// run-as, a terminal or an input stream, they are sent only after the script
// has reported that it has begun.
//
// Env is sent in the same way and is not part of the line, because all users of
// the machine can read the line. Only names that shells do not export (with a
// dash or a dot in them, or special to a shell) are in the line, for env(1).
//
// A command with a stream has a second session (lifeline.go).
//
// With a Warmer, data need not wait for the answer to an exec request, or for a
// sudo that did not ask for a password the last time. The command cannot detect
// a difference.
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
		err = nil // the proof was lost with its stderr
	}
	return p.outcome(x, st, err)
}

// learn records whether sudo has asked for a password.
func (p *plan) learn(x *exchange) {
	if p.as.sudo() && p.o.Unasked != nil && (x.asked || x.hasBegun) {
		p.o.Unasked.learn(p.as, x.asked)
	}
}

// runsLines checks a login shell that gave no proof of a plain line on stderr.
// It asks for a proof on stdout, after the same prefix as in a plain line. fish
// rejects that prefix, with success.
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

// outcome returns the result of an exchange.
func (p *plan) outcome(x *exchange, st transport.Status, err error) (transport.Status, error) {
	switch {
	case err != nil:
		return transport.Status{}, err
	case x.failed != nil:
		return transport.Status{}, stagingError(x.failed, transport.ClassBootstrap, p.dir(), p.o.Host)
	}
	if st.Code == 126 && p.stage != nil && len(p.c.Interpreter) == 0 {
		if err := x.stderr([]byte(noexecHint(p.stage.dir))); err != nil {
			return st, nil // the command has ended; its status is the result
		}
	}
	return st, nil
}

// dir returns the private directory, "" if there is none.
func (p *plan) dir() string {
	if p.stage == nil {
		return ""
	}
	return p.stage.dir
}

func noexecHint(dir string) string {
	return "\n\nThe file system that holds " + path.Dir(dir) + " may be mounted noexec: set tmpdir to a directory from which programs may run.\n"
}

// A plan is the translation of a Cmd to a script and its data.
type plan struct {
	c     *transport.Cmd
	o     Options
	shell dialect
	token string
	as    *escalation
	stage *staging // nil if there is none
	stdin string   // name of the blob that is the command's stdin, or ""
	mark  string   // name of the blob that the cleaner checks, or ""
	block string   // the environment in the form in which it is sent
	life  string   // the input of the watcher
	grace time.Duration
	// proves is set for a plain line that is the first on its connection for a
	// while. It must print a proof, because an account's shell may run nothing
	// and report success.
	proves bool
}

// maxLine is Linux's limit for one argument (MAX_ARG_STRLEN in execve(2)),
// because the line becomes an argument. It leaves room for the quoting of a
// dialect.
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

// validate returns an error for commands that no shell can run.
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
			return unsupported("duplicate staged file %q", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// maxSent is the maximum length of the line with bolt's additions and quotes.
// Linux allows no argument of 128 KiB (execve(2)).
const maxSent = 127 << 10

func tooLong() *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported,
		Msg:  "the command is too long: the limit is 120 KiB for a line and its arguments together, and quotes in it count several times",
		Hint: "Put the command into a script, or its data into a file."}
}

// localName reports whether name is a clean relative path that does not lead
// out of its directory.
func localName(name string) bool {
	return name != "" && name != "." && !path.IsAbs(name) && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.Contains(name, "\x00")
}

// newToken returns a random token for marks. It contains a "%" because of sudo,
// see escalation.prompt.
func newToken() string { return "bolt%" + randomHex(16) }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// addStage decides the content of the private directory.
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

// exchange returns the session that runs the plan.
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
		// bash prints the whole line if it has a syntax error.
		x.cut = "`" + strings.TrimSuffix(x.line, p.c.Line)
		if !x.proof {
			x.token = ""
		}
	}
	return x
}

// plain reports whether the plan is only a line for the login shell.
func (p *plan) plain() bool {
	return p.c.Line != "" && p.as == nil && len(p.c.Env)+len(p.c.Files)+len(p.c.Stdin) == 0 && p.c.Input == nil && p.c.Dir == ""
}

// sends reports whether the script reads data.
func (p *plan) sends() bool { return p.block != "" || p.stage != nil && p.stage.size() > 0 }

// tells reports whether the script reports that it has begun.
func (p *plan) tells() bool {
	return p.as != nil || p.sends() || p.stage != nil || p.c.Input != nil || p.proves
}

// begins returns the steps that report the begin of the script on stderr. If
// the script is more than a plain line, they also report it on stdout. Under
// sudo they always report it there, because SUDO_COMMAND shows the script.
func (p *plan) begins() []string {
	switch {
	case !p.tells():
		return nil
	case p.c.TTY || p.plain():
		return []string{began(p.token, "2")}
	}
	return []string{beganTwice(p.token)}
}

// script returns the script for the login shell, or for the sh under it or
// under sudo.
func (p *plan) script() string {
	var steps []string
	add := func(s ...string) { steps = append(steps, s...) }
	add(p.as.restoreLocale()...)
	raw := p.c.TTY && (p.block != "" || p.stage != nil)
	if raw {
		// The terminal must pass bytes unchanged.
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
			add(`trap ` + Quote(p.undo()+`exit 129`) + ` HUP`) // until the cleaner is running
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

// undo returns the command that removes the private directory if no watcher
// does it.
func (p *plan) undo() string {
	if p.stage == nil || !p.c.TTY {
		return ""
	}
	return `rm -rf -- ` + Quote(p.stage.dir) + `; `
}

// watcher returns the command that starts the watcher, after the files are
// written.
func (p *plan) watcher() string {
	watch := watcher(p.grace, p.life)
	if p.stage != nil {
		watch = tend(p.stage, p.grace, p.c.KeepFiles, p.life)
	}
	switch {
	case p.c.Input != nil: // if the directory cannot be filled, that was marked before
		return watch + ` || { ` + failure(p.token, stepAlive, "", "2") + `; exit 1; }`
	case p.stage != nil:
		return watch + ` || exit 1`
	}
	return watch
}

// asLeader returns the steps that replace the shell by the command as the
// session's leader. So the command's exit status or signal arrives unchanged,
// and the watcher cleans up after it.
func (p *plan) asLeader() []string {
	var steps []string
	switch {
	case p.c.Input != nil: // the session's stdin, unless a start-up file has taken it away
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

// onTerminal runs the command below a shell that cleans up. With a terminal
// there is no watcher, because standard input does not end before everything is
// over.
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

// command returns the command itself: a line for the login shell or sh, or
// quoted arguments.
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

// send writes the data that the script reads: the environment, then the files.
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

// writeAll writes small parts together, so that they are sent in one packet.
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

// The environment is sent as commands for eval, between two lines that mark it.
// The shell's read takes it byte by byte, so that the data after it stays
// unread.

// unexportable returns the env(1) prefix for the entries that a shell cannot
// export. Their values are visible in the process list and, with run-as, in
// sudo's log.
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

// assignments returns the steps that set the exportable variables.
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

// block returns steps in the form in which they are sent.
func block(steps, token string) string {
	return blockBegin(token) + "\n" + steps + "\n" + blockEnd(token) + "\n"
}

// untraced keeps secrets out of traces, and bolt's variables out of the
// environment, if a start-up file has set such options or traps.
const untraced = `{ set +axv; case ${BASH_VERSION-} in ?*) trap - DEBUG RETURN ERR;; esac; } 2>/dev/null`

// readBlock reads a block into a variable, which obey evaluates later. Other
// programs run in between and must not see the block. If a start-up file has
// read a part of the block, the block is incomplete and the step fails. TMOUT
// would end the read: ksh93 applies it anyway, and all shells do if it is
// read-only. Data that comes too late is then an error.
func readBlock(token string) string {
	return `_bolt_n=$(command printf '\nx'); _bolt_n=${_bolt_n%x}; ` +
		`_bolt_q() { IFS= read -r _bolt_l; }; case ${TMOUT-} in ''|0) ;; *) ! (TMOUT=) 2>/dev/null || _bolt_q() { IFS= TMOUT= read -r _bolt_l; };; esac; ` +
		`_bolt_t=` + token + `; _bolt_e=; _bolt_q; [ "$_bolt_l" = "$_bolt_t<" ] && ` +
		`while _bolt_q && [ "$_bolt_l" != "$_bolt_t>" ]; do _bolt_e=$_bolt_e$_bolt_l$_bolt_n; done && ` +
		`[ "$_bolt_l" = "$_bolt_t>" ] || { ` + failure(`"$_bolt_t"`, stepInput, "", "2") + `; exit 1; }`
}

const obey = `eval "$_bolt_e"; unset _bolt_e _bolt_l _bolt_t _bolt_n`

// sink returns a function that writes to w, which may be nil.
func sink(w io.Writer) func([]byte) error {
	if w == nil {
		return func([]byte) error { return nil }
	}
	return func(p []byte) error {
		_, err := w.Write(p)
		return err
	}
}
