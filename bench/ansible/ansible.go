// Package ansible returns the settings with which ansible is as quick as
// possible.
package ansible

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Environ returns the environment. sshArgs select the connections to use, and
// ansible's own files are below dir. If the arguments do not mention master
// connections, ansible adds none of its own.
func Environ(sshArgs, dir string) []string {
	return []string{"ANSIBLE_SSH_ARGS=" + sshArgs, "ANSIBLE_PIPELINING=1", "ANSIBLE_LOCAL_TEMP=" + filepath.Join(dir, "ansible"),
		"ANSIBLE_DEPRECATION_WARNINGS=False", "ANSIBLE_PYTHON_INTERPRETER=auto_silent", "LC_ALL=C.UTF-8"}
}

// Mitogen returns the additional environment of a run with mitogen, or nil if
// mitogen is not installed for ansible's Python.
func Mitogen(ctx context.Context) []string {
	program, err := exec.LookPath("ansible")
	if err != nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, interpreter(program), "-c", "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))").Output()
	if err != nil {
		return nil
	}
	strategies := filepath.Join(strings.TrimSpace(string(out)), "plugins", "strategy")
	return []string{"ANSIBLE_STRATEGY_PLUGINS=" + strategies, "ANSIBLE_STRATEGY=mitogen_linear"}
}

// interpreter returns the Python in the first line of a program.
func interpreter(program string) string {
	const usual = "python3"
	f, err := os.Open(program)
	if err != nil {
		return usual
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if err != nil || !strings.HasPrefix(line, "#!") || len(words) != 1 {
		return usual
	}
	return words[0]
}
