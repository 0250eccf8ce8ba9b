package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Environment variables of the pool.
const (
	poolVariable       = "BOLT_POOL"        // auto, off or required
	poolSocketVariable = "BOLT_POOL_SOCKET" // path of the daemon's socket
)

// lastResort is where the directory goes without a runtime directory. TMPDIR
// does not count: it may be a job's own, and gone before the daemon.
const lastResort = "/tmp"

// poolPlace is where the pool daemon's files are: a directory for nobody but
// the user, on this machine alone, gone with the next boot.
type poolPlace struct {
	dir    string
	socket string
	log    string
}

// findPoolPlace chooses the directory: that of BOLT_POOL_SOCKET, else "bolt"
// in the user's runtime directory (XDG Base Directory Specification), else one
// for the user in the directory of temporary files. Its owner and mode are
// checked by those who use it.
func findPoolPlace(sys system) (poolPlace, error) {
	if path := sys.env(poolSocketVariable); path != "" {
		if !filepath.IsAbs(path) {
			return poolPlace{}, fmt.Errorf("%s: %q is not an absolute path", poolSocketVariable, path)
		}
		return placeOf(path), nil
	}
	uid := os.Getuid()
	for _, dir := range []string{sys.env("XDG_RUNTIME_DIR"), filepath.Join("/run/user", strconv.Itoa(uid))} {
		// Under sudo the variable may still name another user's directory.
		if filepath.IsAbs(dir) && ownedBy(dir, uid) {
			return placeOf(filepath.Join(dir, "bolt", "pool.sock")), nil
		}
	}
	return placeOf(filepath.Join(lastResort, "bolt-"+strconv.Itoa(uid), "pool.sock")), nil
}

func placeOf(socket string) poolPlace {
	dir := filepath.Dir(socket)
	return poolPlace{dir: dir, socket: socket, log: filepath.Join(dir, "pool.log")}
}

func ownedBy(dir string, uid int) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
