package winrmtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bolt/transport/powershell"
)

// A Machine does the same as package powershell's program, without PowerShell
// and on the test's own files. It reads the same frames, writes the same
// answers, and parses command lines as Windows does. Lines and PowerShell
// scripts are scripts for sh here.
type Machine struct {
	Home     string            // directory in which commands start
	Temp     string            // for temporary files
	Programs map[string]string // name → path, instead of PATH
	Noise    string            // printed before anything else
	Silent   bool              // starts nothing and ends with 1
}

// asked holds the data of the request.
type asked map[string][]string

func (a asked) one(key string) string {
	if v := a[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// A failure is an error with a code, which is reported as the program does.
type failure struct {
	code string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func fail(code string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// Exec implements powershell.Starter without a connection.
func (m *Machine) Exec(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	return m.run(ctx, line, stdin, stdout, stderr), nil
}

// run runs a command line to its end.
func (m *Machine) run(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) int {
	if line != powershell.CommandLine() {
		fmt.Fprintf(stderr, "'%.40s' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n", line)
		return 1
	}
	io.WriteString(stdout, m.Noise)
	if m.Silent {
		io.WriteString(stderr, "#< CLIXML\r\n<Objs Version=\"1.1.0.1\" xmlns=\"http://schemas.microsoft.com/powershell/2004/04\"><S S=\"Error\">Cannot invoke method._x000D__x000A_</S></Objs>")
		return 1
	}
	p := &process{m: m, ctx: ctx, in: bufio.NewReader(stdin), stdout: stdout, stderr: stderr, asks: asked{}}
	return p.run()
}

type process struct {
	m              *Machine
	ctx            context.Context
	in             *bufio.Reader
	stdout, stderr io.Writer
	asks           asked
	dir            string // private directory
	cwd            string
	env            []string
	told           bool
}

func (p *process) frame() (key string, data []byte, err error) {
	head, err := p.in.ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the input ended early: %w", err)
	}
	key, size, _ := strings.Cut(strings.TrimSuffix(head, "\n"), " ")
	n, err := strconv.Atoi(size)
	if err != nil {
		return "", nil, fmt.Errorf("%q is not a frame", head)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(p.in, data)
	return key, data, err
}

func (p *process) tell(code, text string) {
	fmt.Fprintf(p.stdout, "%s %s %s\n", p.asks.one("mark"), code, base64.StdEncoding.EncodeToString([]byte(text)))
	p.told = true
}

func (p *process) write(key string, data []byte) {
	fmt.Fprintf(p.stdout, "%s %d\n%s", key, len(data), data)
}

func (p *process) run() int {
	code, err := p.work()
	if p.dir != "" && p.asks.one("keep") == "" {
		defer os.RemoveAll(p.dir)
	}
	if err == nil {
		return code
	}
	f := &failure{"EXEC_ERROR", err}
	errors.As(err, &f)
	switch {
	case !p.told:
		p.tell(f.code, err.Error())
	case p.asks.one("do") == "get":
		p.write("error", []byte(err.Error()))
	default:
		fmt.Fprintln(p.stderr, err)
	}
	return 126
}

func (p *process) work() (int, error) {
	key, text, err := p.frame()
	if err != nil || key != "program" || string(text) != powershell.Program() {
		return 1, fmt.Errorf("the program did not arrive: %q, %d bytes, %v", key, len(text), err)
	}
	for {
		key, data, err := p.frame()
		if err != nil {
			return 1, err
		}
		if key == "go" {
			break
		}
		p.asks[key] = append(p.asks[key], string(data))
	}
	switch p.asks.one("do") {
	case "tempdir":
		p.tell("ok", p.m.Temp+"/")
		return 0, nil
	case "put":
		if err := p.put(); err != nil {
			return 1, err
		}
		p.tell("ok", "")
		return 0, nil
	case "get":
		return 0, p.get()
	}
	if err := p.prepare(); err != nil {
		return 1, err
	}
	var argv []string
	env := p.env
	switch p.asks.one("do") {
	case "line":
		argv = []string{"sh", "-c", p.asks.one("line")}
	case "script":
		argv = append([]string{"sh", filepath.Join(p.dir, p.asks.one("program"))}, p.asks["arg"]...)
		if params := p.asks.one("params"); params != "" {
			named := map[string]any{}
			if err := json.Unmarshal([]byte(params), &named); err != nil {
				return 1, err
			}
			for k, v := range named {
				env = append(env, fmt.Sprintf("named_%s=%v", k, v))
			}
		}
	case "exec":
		if argv, err = p.words(); err != nil {
			return 1, err
		}
	default:
		return 1, fmt.Errorf("nothing is known of %q", p.asks.one("do"))
	}
	p.tell("ok", "")
	return p.start(argv, env)
}

func (p *process) start(argv, env []string) (int, error) {
	cmd := exec.CommandContext(p.ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = p.cwd
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second // for processes that hold our streams and are not in the group
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.stdout, p.stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

func (p *process) prepare() error {
	if p.asks.one("staged") != "" {
		parent, name := p.asks.one("tmpdir"), p.asks.one("name")
		if parent == "" {
			parent = p.m.Temp
		}
		if name == "" {
			dir, err := os.MkdirTemp(parent, "random")
			if err != nil {
				return fail("TMPDIR_ERROR", err)
			}
			p.dir = dir
		} else {
			dir := filepath.Join(parent, name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				return fail("TMPDIR_ERROR", err)
			}
			p.dir = dir
		}
		if err := p.unpack(p.dir); err != nil {
			return fail("WRITE_ERROR", err)
		}
	}
	p.cwd = p.m.Home
	if cwd := p.asks.one("cwd"); cwd != "" {
		if _, err := os.Stat(cwd); err != nil {
			return fail("CHDIR_ERROR", err)
		}
		p.cwd = cwd
	}
	p.env = p.asks["env"]
	return nil
}

// words returns the argv of the program, parsed from the command line for
// Windows.
func (p *process) words() ([]string, error) {
	var line []string
	for _, w := range p.asks["word"] {
		if name, ok := strings.CutPrefix(w, "@"); ok {
			line = append(line, `"`+filepath.Join(p.dir, name)+`"`)
		} else {
			line = append(line, w[1:])
		}
	}
	program := p.asks.one("program")
	if name, ok := strings.CutPrefix(program, "@"); ok {
		path := filepath.Join(p.dir, name)
		if err := os.Chmod(path, 0o700); err != nil {
			return nil, err
		}
		return append([]string{path}, SplitCommandLine(strings.Join(line, " "))...), nil
	}
	name := program[1:]
	if name == "cmd.exe" {
		words, err := SplitBatchLine(strings.Join(line, " "))
		if err != nil {
			return nil, err
		}
		if path, ok := p.m.Programs[words[0]]; ok {
			return append([]string{path}, words[1:]...), nil
		}
		return append([]string{"sh"}, words...), nil // a staged file
	}
	path, ok := p.m.Programs[name]
	if !ok {
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("program does not exist: %s", name)
		}
		path = name
	}
	return append([]string{path}, SplitCommandLine(strings.Join(line, " "))...), nil
}

func (p *process) unpack(root string) error {
	for {
		key, name, err := p.frame()
		if err != nil || key == "end" {
			return err
		}
		path := filepath.Join(root, filepath.FromSlash(string(name)))
		switch key {
		case "dir":
			if err := os.Mkdir(path, 0o755); err != nil {
				return err
			}
		case "file":
			if err := p.unfile(path); err != nil {
				return err
			}
		default:
			return fmt.Errorf("an unknown frame %q", key)
		}
	}
}

func (p *process) unfile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	for {
		key, data, err := p.frame()
		switch {
		case err != nil:
			return err
		case key == "data":
			sum.Write(data)
			if _, err := f.Write(data); err != nil {
				return err
			}
		case key != "sum" || string(data) != hex.EncodeToString(sum.Sum(nil)):
			return fmt.Errorf("%s did not arrive as it was sent", path)
		default:
			return f.Close()
		}
	}
}

func (p *process) put() error {
	base, to := p.asks.one("base"), p.asks.one("to")
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, base)
	}
	near, err := os.MkdirTemp(filepath.Dir(to), ".bolt-")
	if err != nil {
		return fail("MV_ERROR", err)
	}
	defer os.RemoveAll(near)
	if err := p.unpack(near); err != nil {
		return fail("WRITE_ERROR", err)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		if err := os.Remove(to); err != nil { // only an empty one
			return fail("MV_ERROR", err)
		}
	}
	return fail("MV_ERROR", os.Rename(filepath.Join(near, base), to))
}

func (p *process) get() error {
	from := p.asks.one("from")
	if _, err := os.Stat(from); err != nil {
		return fail("WRITE_ERROR", fmt.Errorf("file or directory does not exist: %s", from))
	}
	p.tell("ok", "")
	if err := p.pack(from, p.asks.one("base")); err != nil {
		return err
	}
	p.write("end", nil)
	return nil
}

func (p *process) pack(path, name string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		p.write("dir", []byte(name))
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := p.pack(filepath.Join(path, e.Name()), name+"/"+e.Name()); err != nil {
				return err
			}
		}
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p.write("file", []byte(name))
	p.write("size", []byte(strconv.Itoa(len(data))))
	for piece := range slices.Chunk(data, 80<<10) {
		p.write("data", piece)
	}
	sum := sha256.Sum256(data)
	p.write("sum", []byte(hex.EncodeToString(sum[:])))
	return nil
}

// SplitCommandLine splits the arguments of a command line as programs with
// Microsoft's C library do.
func SplitCommandLine(line string) []string {
	var words []string
	var word bytes.Buffer
	in, any := false, false
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\':
			n := 0
			for i < len(line) && line[i] == '\\' {
				n++
				i++
			}
			any = true
			if i < len(line) && line[i] == '"' {
				word.WriteString(strings.Repeat(`\`, n/2))
				if n%2 == 1 {
					word.WriteByte('"')
					i++
				}
				continue
			}
			word.WriteString(strings.Repeat(`\`, n))
		case c == '"':
			any = true
			if in && i+1 < len(line) && line[i+1] == '"' {
				word.WriteByte('"')
				i++
			} else {
				in = !in
			}
			i++
		case (c == ' ' || c == '\t') && !in:
			if any {
				words = append(words, word.String())
				word.Reset()
				any = false
			}
			i++
		default:
			any = true
			word.WriteByte(c)
			i++
		}
	}
	if any {
		words = append(words, word.String())
	}
	return words
}

// SplitBatchLine parses the text after /s /c as cmd.exe passes it to a batch
// file that passes its arguments to a program.
func SplitBatchLine(line string) ([]string, error) {
	rest, ok := strings.CutPrefix(line, `/d /e:on /v:off /s /c "`)
	if !ok || !strings.HasSuffix(rest, `"`) {
		return nil, fmt.Errorf("%q is not a line for cmd.exe", line)
	}
	rest = strings.TrimSuffix(rest, `"`)
	// Text between quotation marks contains no operators. A percent sign begins
	// a variable, unless the variable expands to nothing.
	if strings.Contains(strings.ReplaceAll(rest, "%%cd:~,%", ""), "%") {
		return nil, fmt.Errorf("a variable would be replaced in %q", line)
	}
	rest = strings.ReplaceAll(rest, "%%cd:~,%", "%")
	in := false
	for _, c := range rest {
		if c == '"' {
			in = !in
		} else if !in && strings.ContainsRune("&|<>^()\n", c) {
			return nil, fmt.Errorf("an operator stands outside of quotation marks in %q", line)
		}
	}
	return SplitCommandLine(rest), nil
}
