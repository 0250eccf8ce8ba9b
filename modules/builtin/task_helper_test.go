package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A helped task is one of somebody else's module, which uses a helper.
type helped struct {
	argv  []string // the interpreter
	file  string
	stdin string
	env   []string
}

// helpedTask lays the modules out with a task beside them, as on a target.
func helpedTask(t *testing.T, name, text string, argv ...string) helped {
	t.Helper()
	program, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatalf("%v (scripts/setup.sh test installs it)", err)
	}
	dir := filepath.Join(t.TempDir(), "install")
	if err := os.CopyFS(dir, Files()); err != nil {
		t.Fatal(err)
	}
	return helped{
		argv:  append([]string{program}, argv[1:]...),
		file:  write(t, filepath.Join(dir, "mine", "tasks", name), text, 0o755),
		stdin: `{"_installdir":"` + dir + `","_task":"mine::it"}`,
		env:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "PT__installdir=" + dir},
	}
}

// run returns what the task prints and its exit status. Nothing may go to
// standard error.
func (h helped) run(t *testing.T) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.argv[0], append(slices.Clone(h.argv[1:]), h.file)...)
	cmd.Env = h.env
	cmd.Stdin = strings.NewReader(h.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); cmd.ProcessState == nil || !cmd.ProcessState.Exited() {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr.String())
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// wants runs the task with parameters beside Bolt's own, which is to end with a
// status and a result, both in JSON.
func (h helped) wants(t *testing.T, status int, want string, params map[string]any) {
	t.Helper()
	all := parse(t, h.stdin)
	maps.Copy(all, params)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	h.stdin = string(text)
	out, got := h.run(t)
	if got != status || !reflect.DeepEqual(parse(t, out), parse(t, want)) {
		t.Errorf("status %d: %s\nwant %d: %s", got, out, status, want)
	}
}

// fails runs the task, which is to end with status 1 and an error that it did
// not expect, and returns the error's details.
func (h helped) fails(t *testing.T, kind, msg string) map[string]any {
	t.Helper()
	out, status := h.run(t)
	e, _ := parse(t, out)["_error"].(map[string]any)
	text, _ := e["msg"].(string)
	details, ok := e["details"].(map[string]any)
	if status != 1 || e["kind"] != kind || !strings.Contains(text, msg) || !ok {
		t.Errorf("status %d: %s\nwant an error %s with %q", status, out, kind, msg)
	}
	return details
}

const rubyTask = `require_relative '../../ruby_task_helper/files/task_helper.rb'

class Mine < TaskHelper
  def self.parameters
    'a name of its own'
  end

  def task(_task:, _installdir:, how: 'nothing', value: nil, **rest)
    debug 'first'
    debug "how: #{how}"
    case how
    when 'echo' then { value: value, task: _task, rest: rest }
    when 'keys' then { keys: [value.keys, value[:list].first.keys].flatten.map(&:class).map(&:to_s) }
    when 'text' then 'no hash'
    when 'bytes' then { printed: %x(printf '\303\251\377'), bytes: "\xE9".b, latin: "\xE9".dup.force_encoding('ISO-8859-1') }
    when 'error' then raise TaskHelper::Error.new('not é today', 'mine/not', 'when' => 'today', 'printed' => %x(printf '\377'), 'debug' => debug_statements)
    when 'odd' then raise TaskHelper::Error.new('not today', 'mine/not', 'n' => [0.0 / 0])
    when 'bare' then raise TaskHelper::Error.new('not today', 'mine/not')
    when 'exception' then raise IndexError, 'too é far'
    when 'script' then require 'mine/not/there'
    when 'deep' then deep(0)
    when 'nan' then { n: 0.0 / 0 }
    when 'exit' then exit 4
    else {}
    end
  end

  def deep(n)
    1 + deep(n + 1)
  end
end

Mine.run if __FILE__ == $PROGRAM_NAME
`

// TestRubyTaskHelper: what tasks in Ruby take and give.
func TestRubyTaskHelper(t *testing.T) {
	t.Parallel()
	h := helpedTask(t, "it.rb", rubyTask, "ruby")
	h.wants(t, 0, `{}`, nil)
	h.wants(t, 0, `{"value":{"é":["日本語 😀",null,1.5,true]},"task":"mine::it","rest":{"other":1}}`,
		map[string]any{"how": "echo", "value": map[string]any{"é": []any{"日本語 😀", nil, 1.5, true}}, "other": 1})
	h.wants(t, 0, `{"keys":["Symbol","Symbol","Symbol"]}`,
		map[string]any{"how": "keys", "value": map[string]any{"a": 1, "list": []any{map[string]any{"b": 1}}}})
	h.wants(t, 0, `{"printed":"é\ufffd","bytes":"\ufffd","latin":"é"}`, map[string]any{"how": "bytes"})
	h.wants(t, 1, `{"_error":{"kind":"mine/not","msg":"not é today","details":{"when":"today","printed":"\ufffd","debug":["first","how: error"]}}}`,
		map[string]any{"how": "error"})
	h.wants(t, 1, `{"_error":{"kind":"mine/not","msg":"not today","details":{}}}`, map[string]any{"how": "bare"})

	with := func(how string) helped {
		c := h
		c.stdin = strings.Replace(h.stdin, "{", `{"how":"`+how+`",`, 1)
		return c
	}
	if out, status := with("text").run(t); out != "no hash" || status != 0 {
		t.Errorf("status %d: %q", status, out)
	}
	if out, status := with("exit").run(t); out != "" || status != 4 {
		t.Errorf("status %d: %q", status, out)
	}
	details := with("exception").fails(t, "IndexError", "too é far")
	trace, _ := details["backtrace"].([]any)
	if len(trace) == 0 || !strings.Contains(trace[0].(string), "it.rb:") || !reflect.DeepEqual(details["debug"], []any{"first", "how: exception"}) {
		t.Errorf("details: %v", details)
	}
	if text, _ := with("odd").fails(t, "mine/not", "not today")["inspect"].(string); !strings.Contains(text, "NaN") {
		t.Errorf("details: %q", text)
	}
	with("script").fails(t, "LoadError", "mine/not/there")
	with("deep").fails(t, "SystemStackError", "stack")
	with("nan").fails(t, "JSON::GeneratorError", "NaN")

	h.stdin = ""
	if details := h.fails(t, "JSON::ParserError", "standard input does not hold parameters"); details["debug"] != nil {
		t.Errorf("details: %v", details)
	}
	h.stdin = "{no JSON"
	h.fails(t, "JSON::ParserError", "")
	h.stdin = "[1]"
	h.fails(t, "TypeError", "Hash")

	h = helpedTask(t, "none.rb", strings.Replace(rubyTask, "def task(", "def chore(", 1), "ruby")
	h.wants(t, 1, `{"_error":{"kind":"tasklib/not-implemented","msg":"Mine has no method 'task'","details":{}}}`, nil)
}

const pythonTask = `# -*- coding: utf-8 -*-
import os, sys
sys.path.append(os.path.join(os.path.dirname(__file__), '..', '..', 'python_task_helper', 'files'))
from task_helper import TaskHelper, TaskError

class Mine(TaskHelper):
    def task(self, args):
        how = args.get('how')
        self.debug('how: %s' % how)
        if how == 'echo':
            return {'value': args['value'], 'task': args['_task']}
        if how == 'error':
            raise TaskError(u'not é today', 'mine/not', {'when': 'today', 'bytes': b'\xc3\xa9\xff', 'type': int, 'debug': self.debug_statements})
        if how == 'code':
            raise TaskError('not today', 'mine/not', issue_code='NOT')
        if how == 'exception':
            raise IndexError(u'too é far')
        if how == 'object':
            return {'object': object()}
        if how == 'exit':
            sys.exit(4)
        return {}

if __name__ == '__main__':
    Mine().run()
`

// TestPythonTaskHelper: what tasks in Python take and give, with Python 3, and
// with Python 2 where that is installed.
func TestPythonTaskHelper(t *testing.T) {
	for _, python := range []string{"python3", "python2.7"} {
		if python == "python2.7" {
			if err := exec.CommandContext(t.Context(), python, "-c", "").Run(); err != nil {
				t.Log(err)
				continue
			}
		}
		t.Run(python, func(t *testing.T) {
			t.Parallel()
			h := helpedTask(t, "it.py", pythonTask, python)
			h.wants(t, 0, `{}`, nil)
			h.wants(t, 0, `{"value":{"é":["日本語 😀",null,1.5,true]},"task":"mine::it"}`,
				map[string]any{"how": "echo", "value": map[string]any{"é": []any{"日本語 😀", nil, 1.5, true}}})
			class := "<class 'int'>"
			if python != "python3" {
				class = "<type 'int'>"
			}
			h.wants(t, 1, `{"_error":{"kind":"mine/not","msg":"not é today","details":{"when":"today","bytes":"é\ufffd","type":"`+class+`","debug":["how: error"]}}}`,
				map[string]any{"how": "error"})
			h.wants(t, 1, `{"_error":{"kind":"mine/not","msg":"not today","details":{},"issue_code":"NOT"}}`, map[string]any{"how": "code"})
			const kind = "python.task.helper/exception"
			h.wants(t, 1, `{"_error":{"kind":"`+kind+`","issue_code":"EXCEPTION","msg":"too é far","details":{"class":"IndexError","debug":["how: exception"]}}}`,
				map[string]any{"how": "exception"})

			with := func(how string) helped {
				c := h
				c.stdin = strings.Replace(h.stdin, "{", `{"how":"`+how+`",`, 1)
				return c
			}
			if details := with("object").fails(t, kind, "not JSON serializable"); details["class"] != "TypeError" {
				t.Errorf("details: %v", details)
			}
			if out, status := with("exit").run(t); out != "" || status != 4 {
				t.Errorf("status %d: %q", status, out)
			}
			h.stdin = ""
			h.fails(t, kind, "standard input does not hold parameters")
			h.stdin = "{no JSON"
			h.fails(t, kind, "")
			h.stdin = "{\"how\": \"\xff\"}"
			h.fails(t, kind, "decode")

			h = helpedTask(t, "none.py", strings.Replace(pythonTask, "def task(", "def chore(", 1), python)
			h.wants(t, 1, `{"_error":{"kind":"`+kind+`","issue_code":"EXCEPTION","msg":"Mine has no method 'task'","details":{}}}`, nil)
		})
	}
}

// TestBashTaskHelper: what tasks in bash take and give.
func TestBashTaskHelper(t *testing.T) {
	const head = "source \"$PT__installdir/bash_task_helper/files/task_helper.sh\"\n"
	for _, tt := range []struct {
		name, text string
		env        string
		status     int
		want       string
	}{
		{"nothing", "echo said", "", 0, `{}`},
		{"succeed", "echo said; task-succeed", "", 0, `{"status":"success"}`},
		{"succeed with a message", `echo said; task-succeed "all \"é\" is well"`, "", 0, `{"status":"success","_output":"all \"é\" is well"}`},
		{"verbose", "task-verbose-output; echo said; echo more >&2; task-succeed ok", "", 0, `{"status":"success","_output":"said\nmore\nok"}`},
		{"not verbose", "task-verbose-output; task-verbose-output false; echo said", "", 0, `{}`},
		{"fail", "echo said; echo more >&2; task-fail; echo never", "", 1, `{"status":"error","_output":"said\nmore"}`},
		{"fail with a message", "task-fail 'not today'", "", 1, `{"status":"error","_output":"not today"}`},
		{"fail after output", "printf said; task-fail 'not today' 7", "", 7, `{"status":"error","_output":"said\nnot today"}`},
		{"fail with no status", "task-fail x 0", "", 1, `{"status":"error","_output":"x"}`},
		{"fail in a subshell", "(echo said; task-fail inside 5; echo never); exit $?", "", 5, `{"_output":"said\ninside"}`},
		{"exit", "echo said; exit 3", "", 3, `{"_output":"said"}`},
		{"set -e", "set -eu; task-output a 1; false; echo never", "", 1, `{"a":"1","_output":""}`},
		{"set -eu", "set -euo pipefail; echo said; task-succeed", "", 0, `{"status":"success"}`},
		{"an error of bash", "task-output a 1; set -u; LC_ALL=C; echo \"$nosuch\"", "", 1, ""},
		{"output", `task-output a 'x "y" \ z'; task-output a new; task-output-json n '{"b": [1, null]}'; task-output empty; task-output 'k"' v`, "", 0,
			`{"a":"new","n":{"b":[1,null]},"empty":"","k\"":"v"}`},
		{"old names", "echo said; fail gone 2", "", 2, ""},
		{"parameters", `task-output name "$name"; task-output list "$list"; task-output dir "${_installdir:+there}"; task-output raw "$PT_name"`,
			"PT_name=it's \"é\" $(id)\nx", 0, `{"name":"it's \"é\" $(id)\nx","list":"","dir":"there","raw":"it's \"é\" $(id)\nx"}`},
		{"a name that is taken", `task-output uid "$(( UID == 4711 ))"`, "PT_UID=4711", 0, `{"uid":"0"}`},
		{"a colour", `task-output red "$red"`, "PT_red=crimson", 0, `{"red":"crimson"}`},
		{"no colours", `task-output c "$green$red$reset"`, "TERM=xterm", 0, `{"c":""}`},
		{"no zero bytes", `printf 'a\0b'; exit 1`, "", 1, `{"_output":"ab"}`},
		{"escape", `task-output e "$(printf 'a\n"\\\n' | task-json-escape)"`, "", 0, `{"e":"a\\n\\\"\\\\\\n"}`},
		{"a trap", `tidy() { local s=$?; task-output tidy yes; task-exit $s; }; trap tidy EXIT; echo said; exit 6`, "", 6, `{"tidy":"yes","_output":"said"}`},
		{"terminated", `echo said; trap 'exit 9' TERM; kill $$; sleep 0.1`, "", 9, `{"_output":"said"}`},
		{"no file", "echo never", "TMPDIR=/nonexistent", 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := helpedTask(t, "it.sh", head+tt.text+"\n", "bash")
			tmp := t.TempDir()
			h.env = append(h.env, "TMPDIR="+tmp)
			if tt.env != "" {
				h.env = append(h.env, tt.env)
			}
			switch tt.name {
			case "an error of bash":
				out, status := h.run(t)
				m := parse(t, out)
				if text, _ := m["_output"].(string); status != tt.status || m["a"] != "1" || !strings.Contains(text, "nosuch: unbound variable") {
					t.Errorf("status %d: %s", status, out)
				}
			case "old names":
				out, status := h.run(t)
				m := parse(t, out)
				if text, _ := m["_deprecation_warning"].(string); status != tt.status || m["_output"] != "said\ngone" || !strings.Contains(text, "task-fail") {
					t.Errorf("status %d: %s", status, out)
				}
			case "no file":
				h.argv = append(h.argv, "-c", `exec 2>/dev/null; . "$0"`) // what mktemp says
				h.fails(t, "bash-task-helper/no-file", "mktemp")
			default:
				h.wants(t, tt.status, tt.want, nil)
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// TestBashJSON: any text becomes a string in JSON, and comes out of it as it was
// if it is UTF-8.
func TestBashJSON(t *testing.T) {
	t.Parallel()
	h := helpedTask(t, "it.sh", "source \"$PT__installdir/bash_task_helper/files/task_helper.sh\"\ntask-output text \"$text\"\n", "bash")
	for _, locale := range []string{"C", "C.UTF-8"} {
		for _, text := range hardTexts {
			h := h
			h.env = append(slices.Clone(h.env), "LC_ALL="+locale, "PT_text="+text)
			out, status := h.run(t)
			got, ok := parse(t, out)["text"].(string)
			if status != 0 || !ok || utf8.ValidString(text) && got != text || !utf8.ValidString(text) && !strings.Contains(got, "\ufffd") {
				t.Errorf("%s: status %d: %q became %q", locale, status, text, got)
			}
		}
	}
}
