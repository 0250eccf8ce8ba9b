package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxLocalFile bounds what is read whole into memory: a script, a command, a
// list of targets. It is for devices that never end.
const maxLocalFile = 256 << 20

// readLocal reads a file whole. A pipe, as from the shell's <(…), is read to
// its end; one that nobody writes to is empty and does not hang.
func readLocal(path string) ([]byte, error) {
	f, err := openLocal(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLocalFile+1))
	if err == nil && len(data) > maxLocalFile {
		err = fmt.Errorf("more than %d MiB", maxLocalFile>>20)
	}
	return data, err
}

// openLocal opens a file for reading; a pipe without a writer does not block.
func openLocal(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}
