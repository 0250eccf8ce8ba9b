package local

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	transporttest.TestDialer(t, func(t *testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return NewDialer(Options{}), transport.Dest{Protocol: "local"}, transporttest.Env{As: dialerAs, DownloadCode: "DOWNLOAD_ERROR"}
	})
}

// TestIgnoredSignals checks that commands obey signals that this process
// ignores since its start.
func TestIgnoredSignals(t *testing.T) {
	child := exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" "$@"`, os.Args[0], "-test.v", "-test.run", "^TestConformance$/^terminal$/^cancel")
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestConformance/terminal/cancel_of_a_script") {
		t.Errorf("%v\n%s", err, out)
	}
}

// dialerAs starts processes as another user, as if that user had started this
// process.
func dialerAs(t *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
	t.Helper()
	account, err := user.Lookup(u.Name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDialer(Options{})
	d.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return d, transport.Dest{Protocol: "local", Host: "localhost"}
}

// TestUserIsLookedUpOnce checks that the name of the user is looked up once for
// all connections.
func TestUserIsLookedUpOnce(t *testing.T) {
	d := NewDialer(Options{})
	first := d.user()
	d.cred = &syscall.Credential{Uid: 65534} // a second lookup would return this user
	if again := d.user(); first == "" || again != first {
		t.Errorf("user %q, then %q", first, again)
	}
}

func TestDialOfACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := NewDialer(Options{}).Dial(ctx, transport.Dest{})
	if transport.ClassOf(err) != transport.ClassCancelled {
		t.Errorf("got %v", err)
	}
}
