package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// SocketVariable is the environment variable that names the daemon's socket.
const SocketVariable = "BOLT_POOL_SOCKET"

// lastResort is where the directory goes without a runtime directory. TMPDIR
// does not count: it may be a job's own, and gone before the daemon.
const lastResort = "/tmp"

// A Place is where the daemon's files are: a directory for nobody but
// the user, on this machine alone, gone with the next boot.
type Place struct {
	Dir    string
	Socket string
	Log    string
}

// FindPlace chooses the directory: that of socket, which is the value of
// SocketVariable, else "bolt" in the user's runtime directory (XDG Base Directory
// Specification), else one for the user in the directory of temporary files. Its
// owner and mode are checked by those who use it.
func FindPlace(socket, runtimeDir string) (Place, error) {
	if socket != "" {
		if !filepath.IsAbs(socket) {
			return Place{}, fmt.Errorf("%s: %q is not an absolute path", SocketVariable, socket)
		}
		return PlaceOf(socket), nil
	}
	uid := os.Getuid()
	for _, dir := range []string{runtimeDir, filepath.Join("/run/user", strconv.Itoa(uid))} {
		// Under sudo the variable may still name another user's directory.
		if filepath.IsAbs(dir) && ownedBy(dir, uid) {
			return PlaceOf(filepath.Join(dir, "bolt", "pool.sock")), nil
		}
	}
	return PlaceOf(filepath.Join(lastResort, "bolt-"+strconv.Itoa(uid), "pool.sock")), nil
}

// PlaceOf is the place of a daemon that listens on a socket.
func PlaceOf(socket string) Place {
	dir := filepath.Dir(socket)
	return Place{Dir: dir, Socket: socket, Log: filepath.Join(dir, "pool.log")}
}

func ownedBy(dir string, uid int) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
