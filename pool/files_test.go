package pool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// childEnv makes the test binary the child of TestDescriptorLimit. Its value is
// a key file and the addresses of servers.
const childEnv = "POOL_TEST_FILES"

// childFiles is the child's limit of descriptors, which is below the number of
// its servers.
const childFiles = 60

// TestDescriptorLimit runs a Pool in a process with few descriptors.
func TestDescriptorLimit(t *testing.T) {
	t.Parallel()
	f := sshtest.NewFleet(t, 2*childFiles, func(context.Context, sshtest.Call) int { return 0 }, nil)
	cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptorLimitChild$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+f.KeyFile)
	cmd.Stdin = strings.NewReader(strings.Join(f.Addrs, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestDescriptorLimitChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDescriptorLimitChild only runs as a child.
func TestDescriptorLimitChild(t *testing.T) {
	keyFile := os.Getenv(childEnv)
	if keyFile == "" {
		return
	}
	var addrs []string
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		addrs = append(addrs, in.Text())
	}
	d, _ := dialerFor(t, "")
	p := newPool(t, d, Options{})
	limit := syscall.Rlimit{Cur: childFiles, Max: childFiles}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs { // idle connections are closed for the next ones
		c, err := p.Dial(t.Context(), fleetDest(t, keyFile, addr))
		if err != nil {
			t.Fatalf("dial with %d open: %v", len(p.Connections()), err)
		}
		c.Close()
	}
	if n := len(p.Connections()); n < childFiles/2 {
		t.Errorf("only %d connections are kept", n)
	}
	var err error
	var held []transport.Conn
	for _, addr := range addrs {
		var c transport.Conn
		if c, err = p.Dial(t.Context(), fleetDest(t, keyFile, addr)); err != nil {
			break
		}
		held = append(held, c)
	}
	if e := wantClass(t, err, transport.ClassConnect); !errors.Is(err, syscall.EMFILE) || !strings.Contains(e.Hint, "ulimit -n") {
		t.Errorf("error %v", err)
	}
	fmt.Println("held", len(held), "then:", err)
	for _, c := range held {
		c.Close()
	}
	if _, err := p.Dial(t.Context(), fleetDest(t, keyFile, addrs[len(addrs)-1])); err != nil {
		t.Errorf("dial when there are idle ones again: %v", err)
	}
}
