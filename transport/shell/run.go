package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
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
// data for stdin travel behind it without waiting for an answer, unless run-as
// or a terminal is asked for: then after the script has said that it has
// begun. Env travels the same way and not in the line, because lines are seen
// by everybody on the machine; only names that shells do not export (with a
// dash or a dot in them, or special to a shell) are in the line, for env(1).
//
// With a Warmer, data need not wait for the answer to an exec, nor for a sudo
// that asked for nothing the last time. With Texts, no process is started for
// what is small. With Kept, large files need not travel. None of this shows in
// what the command sees or comes to, but that short data for stdin may be in a
// pipe and not in a file.
func Run(ctx context.Context, s Starter, c *transport.Cmd, o Options) (transport.Status, error) {
	o.Host = cmp.Or(c.Label, o.Host)
	st, err := run(ctx, s, c, o)
	if errors.Is(err, errStale) {
		o.Kept.Stale()
		o.Kept = nil
		st, err = run(ctx, s, c, o)
	}
	return st, err
}

// errStale says that a file that was to be on the machine is not, or is
// another, and nothing was run.
var errStale = errors.New("a kept file is not as it was")

// run is Run with the files that are on the machine.
func run(ctx context.Context, s Starter, c *transport.Cmd, o Options) (transport.Status, error) {
	p, err := newPlan(c, o)
	if err != nil {
		return transport.Status{}, err
	}
	if w, ok := s.(Warmer); ok {
		if st, err, ok := p.runReady(ctx, w); ok {
			return st, err
		}
	}
	if st, err, ok := p.runByTexts(ctx, s); ok {
		return st, err
	}
	p.pack()
	x := p.exchange()
	if len(x.line) > maxSent {
		return transport.Status{}, tooLong()
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
	case x.failed != nil && x.failed.step == stepStale && p.o.Kept != nil:
		return transport.Status{}, errStale
	case x.failed != nil && x.failed.step == stepTexts && p.inText:
		if p.o.Texts != nil {
			p.o.Texts.refuse(p.ready)
		}
		logger(&p.o).Debug("login shell takes no texts", "target", p.o.Host)
		return transport.Status{}, errNoTexts
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
	c      *transport.Cmd
	o      Options
	shell  dialect
	token  string
	as     *escalation
	stage  *staging // nil for none
	stdin  string   // name of the blob that is the command's stdin, or ""
	mark   string   // name of the blob that the cleaner looks for, or ""
	block  string   // what the script reads first, as it travels
	grace  time.Duration
	asks   bool   // the script asks the login shell whether it takes texts (text.go)
	heard  bool   // it need not say that it has begun: it was heard on both streams not long ago
	inText bool   // the login shell takes what is small itself
	steps  string // by which it does
	input  string // what stdin gets then, instead of the blob
	ready  bool   // the script is for a ready shell
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
	p := &plan{c: c, o: o, shell: shell, token: newToken(), grace: c.Grace}
	if p.grace <= 0 {
		p.grace = transport.DefaultGrace
	}
	if p.as = escalate(c.RunAs, p.token, &p.o); p.as != nil {
		p.as.tty = c.TTY
	}
	p.proves = o.unproven() && p.shell == posix && !c.TTY && p.plain()
	return p, nil
}

// validate refuses what no shell could be told.
func validate(c *transport.Cmd) error {
	switch {
	case (c.Line == "") == (len(c.Argv) == 0):
		return unsupported("a command needs either a line or arguments")
	case strings.Contains(c.Line+c.Dir+c.TmpDir+c.ScriptDir+c.RunAs.User+strings.Join(c.Interpreter, "")+strings.Join(c.Argv, "")+strings.Join(c.Env, ""), "\x00"):
		return unsupported("a command, its arguments and its environment cannot hold a NUL byte")
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
	room := maxText - len(p.input)
	for _, f := range p.c.Files {
		mode := uint32(f.Mode.Perm())
		if len(p.c.Argv) > 0 && p.c.Argv[0] == "./"+f.Name && len(p.c.Interpreter) == 0 {
			mode |= 0o100
		}
		b := blob{name: f.Name, mode: mode, size: int64(len(f.Data))}
		if p.inText && len(f.Data) <= room && mayBeText(f.Data, mode) {
			b.text = string(f.Data)
			room -= len(f.Data)
		}
		if p.o.Kept != nil {
			if path, sum, ok := p.o.Kept.Find(&f); ok {
				b.kept, b.sum = path, sum
			}
		}
		p.stage.blobs = append(p.stage.blobs, b)
	}
	if len(p.c.Stdin) > 0 && p.input == "" {
		p.stdin = ".stdin-" + randomHex(4)
		p.stage.blobs = append(p.stage.blobs, blob{name: p.stdin, mode: 0o600, size: int64(len(p.c.Stdin))})
	}
	if p.c.TTY && !p.c.KeepFiles {
		p.mark = ".mark-" + randomHex(4)
		p.stage.blobs = append(p.stage.blobs, blob{name: p.mark, mode: 0o600})
	}
}

// pack decides how environment, files and data for stdin travel.
func (p *plan) pack() {
	p.block, p.inText, p.input = "", false, ""
	p.stage, p.stdin, p.mark = nil, "", ""
	p.asTexts()
	if len(p.c.Files) > 0 || len(p.c.Stdin) > 0 && p.input == "" {
		p.addStage()
	}
	p.steps = strings.Join(p.texts(), "\n")
	p.inText = p.steps != ""
	switch {
	case p.inText && p.ready: // in front of the script
	case p.inText:
		p.block = block(p.steps, p.token)
	case len(p.c.Env) > 0:
		p.block = block(strings.Join(assignments(p.c.Env), "\n"), p.token)
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
		afterBegan:  p.as != nil && !p.as.silent || p.c.TTY || !p.ready && p.o.unproven(),
		stdout:      sink(p.c.Stdout),
		stderr:      sink(p.c.Stderr),
		stderrFirst: p.as.sudo() && !p.c.TTY && len(p.c.Stdin) == 0,
		grace:       p.grace,
		proven:      p.o.Proof,
		log:         logger(&p.o),
		tellsOut:    p.heard,
		mayRefuse:   !p.heard && p.asks,
	}
	if p.block != "" || p.stage != nil && p.stage.size() > 0 {
		x.send = p.send
	}
	x.proof, x.twice = p.tells(), p.tellsTwice()
	switch {
	case p.ready:
		x.line = p.script()
		switch {
		case p.as != nil:
			x.line = p.as.line(x.line)
		case p.block != "":
			x.line = p.shell.underSh(x.line)
		}
		x.line = p.takes() + x.line
	case p.as != nil:
		x.line = p.as.line(p.script())
		if p.shell != posix {
			x.line = p.shell.underSh(x.line)
		}
	case p.plain() && p.c.TTY:
		x.line, x.token = p.c.Line, ""
	case p.shell != posix || p.block != "" && !p.asLoginShell() || p.c.TTY:
		x.line = p.shell.underSh(p.script())
	default:
		x.line = p.script()
		if p.plain() {
			// bash shows the whole line with a syntax error in it.
			x.cut = "`" + strings.TrimSuffix(x.line, p.c.Line)
			if !x.proof {
				x.token = ""
			}
		}
	}
	return x
}

// plain reports whether there is nothing but a line for the login shell.
func (p *plan) plain() bool {
	return p.c.Line != "" && p.as == nil && !p.brings() && p.c.Dir == ""
}

// brings reports whether there is data to send.
func (p *plan) brings() bool { return len(p.c.Env) > 0 || len(p.c.Files) > 0 || len(p.c.Stdin) > 0 }

// tells reports whether the script says that it has begun.
func (p *plan) tells() bool {
	return p.ready || p.as != nil || !p.heard && (p.block != "" || p.stage != nil) || p.proves
}

// tellsTwice reports whether it says so on stdout, too. Under sudo it is so
// always, since SUDO_COMMAND shows the script.
func (p *plan) tellsTwice() bool {
	return p.tells() && !p.c.TTY && !p.plain() && (p.as != nil || !p.ready)
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
	if p.asks {
		add(asksForTexts(p.token))
	}
	switch {
	case p.inPlace(): // told already
	case p.tellsTwice():
		add(beganTwice(p.token))
	case p.tells():
		add(began(p.token, "2"))
	}
	if p.as != nil && !p.o.Local {
		add(`cd`)
	}
	if p.block != "" {
		if p.asks {
			add(readTexts(p.token))
		} else {
			add(readBlock(p.token))
		}
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
	if p.inText {
		add(obey)
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
	if p.stage == nil {
		return watcher(p.grace)
	}
	if p.inPlace() {
		return readyTend + ` ` + tendWords(p.stage, p.grace, p.c.KeepFiles)
	}
	return tend(p.stage, p.grace, p.c.KeepFiles)
}

// asLeader makes the command the session's leader, in the place of the shell:
// so its exit status and its death by a signal reach us as they are, and the
// watcher cleans up behind it.
func (p *plan) asLeader() []string {
	var steps []string
	switch {
	case p.input != "": // it is there
	case p.stdin != "":
		file := Quote(p.stage.path(p.stdin))
		steps = append(steps, `exec <`+file, `command rm -f -- `+file)
	default:
		steps = append(steps, `exec </dev/null`)
	}
	if p.block != "" && !p.inText {
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
	if p.stage != nil {
		for i, f := range p.c.Files {
			if b := p.stage.blobs[i]; b.kept == "" && b.text == "" {
				parts = append(parts, f.Data)
			}
		}
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

// What the shell is to know travels as commands for eval, between two lines of
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
		`_bolt_q() { IFS= read -r _bolt_l; }; case ${TMOUT-} in ''|0) ;; *) ! (TMOUT=) 2>/dev/null || _bolt_q() { IFS= TMOUT= read -r _bolt_l; };; esac; ` + takeBlock(token)
}

// takeBlock reads a block by _bolt_q, which reads a line.
func takeBlock(token string) string {
	return `_bolt_t=` + token + `; _bolt_e=; _bolt_q; [ "$_bolt_l" = "$_bolt_t<" ] && ` +
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
