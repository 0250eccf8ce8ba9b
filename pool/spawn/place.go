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

// lastResort is the parent of the directory if the runtime directory is missing.
// TMPDIR is not used, because it can belong to a job and be removed before the
// daemon ends.
const lastResort = "/tmp"

// A Place is the directory of the daemon's files. Only the user can access it.
// It is on this machine and does not survive a reboot.
type Place struct {
	Dir    string
	Socket string
	Log    string
}

// FindPlace chooses the directory: that of socket, which is the value of
// SocketVariable, else "bolt" in the user's runtime directory (XDG Base
// Directory Specification), else one for the user in the directory of temporary
// files. Callers must check its owner and mode.
func FindPlace(socket, runtimeDir string) (Place, error) {
	if socket != "" {
		if !filepath.IsAbs(socket) {
			return Place{}, fmt.Errorf("%s: %q is not an absolute path", SocketVariable, socket)
		}
		return PlaceOf(socket), nil
	}
	uid := os.Getuid()
	for _, dir := range []string{runtimeDir, filepath.Join("/run/user", strconv.Itoa(uid))} {
		// Under sudo, the variable can still name another user's directory.
		if filepath.IsAbs(dir) && ownedBy(dir, uid) {
			return PlaceOf(filepath.Join(dir, "bolt", "pool.sock")), nil
		}
	}
	return PlaceOf(filepath.Join(lastResort, "bolt-"+strconv.Itoa(uid), "pool.sock")), nil
}

// PlaceIn calls FindPlace with the variables of an environment.
func PlaceIn(getenv func(name string) (value string, ok bool)) (Place, error) {
	socket, _ := getenv(SocketVariable)
	runtimeDir, _ := getenv("XDG_RUNTIME_DIR")
	return FindPlace(socket, runtimeDir)
}

// PlaceOf returns the Place of a daemon that listens on a socket.
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
