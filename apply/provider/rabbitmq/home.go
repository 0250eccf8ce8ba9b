package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
)

// home returns the home directory of the user with a UID. Erlang runs the code in $HOME/.erlang and reads $HOME/.erlang.cookie, so a
// directory that all users can write is an error.
func home(ctx context.Context, h *resource.Host, uid int) (string, error) {
	dir := "/root"
	if uid != 0 {
		u, err := login.FindUser(ctx, h, strconv.Itoa(uid))
		if err != nil {
			return "", err
		}
		dir = u.Home
	}
	info, err := os.Stat(h.Path(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return dir, nil
	case err != nil:
		return "", err
	case info.Mode()&0o002 != 0:
		return "", fmt.Errorf("all users can write to the home directory %s, so they could run code with Erlang. Change its mode", dir)
	}
	return dir, nil
}

// environ returns the environment of the programs.
func environ(ctx context.Context, h *resource.Host) ([]string, error) {
	dir, err := home(ctx, h, os.Geteuid())
	if err != nil {
		return nil, err
	}
	return h.Environ("HOME="+dir, "LC_ALL=C.UTF-8"), nil
}
