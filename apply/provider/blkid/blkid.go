// Package blkid finds the signatures of file systems and partitions on devices, with blkid(8).
package blkid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

// attribute is a value in a line of blkid.
var attribute = lazyregexp.New(` (PTTYPE|TYPE)="([^"]*)"`)

// The results of Probe for a device with partitions or with several signatures.
const (
	Partitions = "partitions"
	Several    = "several" // signatures
)

// limit ends a blkid that hangs.
const limit = 10 * time.Minute

// Exit codes of blkid(8) that are not failures.
const (
	nothing    = 2 // also for a device that cannot be read
	ambivalent = 8 // several signatures
)

// Probe returns the file system of a device, "" for none. It is also "" for a device that does not exist. It reads the device itself,
// because the lists of udev can be old.
//
// The program has the files of open, from descriptor 3 on, so device can be the path of a descriptor.
func Probe(ctx context.Context, h *resource.Host, device string, open ...*os.File) (string, error) {
	program := &tool.Tool{Name: "blkid", Hint: "Install the package util-linux on the target", Limit: limit}
	out, err := program.Run(ctx, h, &resource.Command{Argv: []string{"-p", "-s", "TYPE", "-s", "PTTYPE", device}, Keep: open})
	if err != nil {
		return "", err
	}
	switch out.Code {
	case nothing:
		if open != nil {
			return "", nil
		}
		return "", checkReadable(h.Path(device))
	case ambivalent:
		return Several, nil
	}
	if err := out.Failure("blkid"); err != nil {
		return "", err
	}
	kind, understood := parse(string(out.Stdout))
	if !understood { // a caller can write to the device if it has no file system
		return "", fmt.Errorf("blkid printed %q, which is not understood", safetext.Message(string(out.Stdout)))
	}
	return kind, nil
}

// checkReadable returns an error for a device that exists and cannot be read.
func checkReadable(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// parse reads a line such as: /dev/vg/lv: TYPE="ext4". A partition without a file system has no attributes.
func parse(text string) (kind string, understood bool) {
	if text = strings.TrimSpace(text); text == "" || strings.HasSuffix(text, ":") && !strings.Contains(text, "\n") {
		return "", true
	}
	_, text, _ = strings.Cut(text, ": ")
	for _, m := range attribute().FindAllStringSubmatch(" "+text, -1) {
		switch {
		case m[1] == "TYPE":
			kind = m[2]
		case kind == "":
			kind = Partitions
		}
	}
	return kind, kind != ""
}
