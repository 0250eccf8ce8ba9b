// Package input reads standard input, which can be read only once, and the files that
// arguments name.
package input

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/run"
)

// An Input is the standard input of one invocation. It is not safe for concurrent use.
type Input struct {
	file *os.File
	used bool // it was read
}

// New returns an Input over standard input.
func New(file *os.File) *Input { return &Input{file: file} }

// Arg returns arg. "@FILE" stands for the text of a file, "-" for the text
// of standard input. It returns run.ErrStopped when ctx ends the wait.
func (i *Input) Arg(ctx context.Context, arg string) (string, error) {
	switch {
	case arg == "-":
		text, err := i.Whole(ctx, readfile.Payload)
		if _, usage := errors.AsType[*cli.UsageError](err); err != nil && !usage && !errors.Is(err, run.ErrStopped) {
			err = &fault.Error{Kind: "bolt/file-error", Msg: fmt.Sprintf("Error attempting to read standard input: %v", err)}
		}
		return string(text), err
	case strings.HasPrefix(arg, "@"):
		text, err := readfile.Read(ctx, arg[1:], readfile.Payload)
		if err != nil && !errors.Is(err, run.ErrStopped) {
			err = cli.Errorf("Error attempting to read %s: %v", arg[1:], fault.WithoutPath(err))
		}
		return string(text), err
	}
	return arg, nil
}

// Object reads the JSON object that is the value of a flag, as Arg reads it.
func (i *Input) Object(ctx context.Context, flag, arg string) (*ordered.Map, error) {
	text, err := i.Arg(ctx, arg)
	if err != nil {
		return nil, err
	}
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		return nil, cli.Errorf("Unable to parse --%s value as JSON: %v", flag, err)
	}
	object, ok := v.(*ordered.Map)
	if !ok {
		return nil, cli.Hinted(cli.Errorf("Unable to parse --%s value as JSON: it must be an object", flag), `for example '{"name": "value"}'`)
	}
	return object, nil
}

// Whole reads standard input to its end. It returns run.ErrStopped when ctx ends the
// wait.
func (i *Input) Whole(ctx context.Context, limit int64) ([]byte, error) {
	if i.used {
		return nil, errUsed()
	}
	i.used = true
	in, stop, err := readfile.Wakeable(ctx, i.file)
	if err != nil {
		return nil, err
	}
	defer stop()
	return readfile.Whole(ctx, in, limit)
}

func errUsed() error { return cli.Errorf("Standard input ('-') can be read only once") }

// Remote opens the file of --stdin for the commands on targets; nil for "". closeInput
// must be called when the commands have ended.
func (i *Input) Remote(ctx context.Context, name string) (in *run.Input, closeInput func(), err error) {
	var file *os.File
	switch name {
	case "":
		return nil, func() {}, nil
	case "-":
		if i.used {
			return nil, nil, errUsed()
		}
		i.used = true
		file = i.file
	default:
		if file, err = readfile.Open(name); err != nil {
			return nil, nil, fault.File(name, err, "The file '%s' of --stdin could not be read: %v", name, fault.WithoutPath(err))
		}
		defer func() {
			if err != nil {
				file.Close()
			}
		}()
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		return nil, nil, fault.File(name, err, "The file '%s' of --stdin could not be read: %v", name, fault.WithoutPath(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	src, stop, err := readfile.Wakeable(ctx, file)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	closeInput = func() {
		cancel() // ends a Read, for which Close waits
		if in != nil {
			_ = in.Close()
		}
		stop()
		if name != "-" {
			file.Close()
		}
	}
	if info.Mode().IsRegular() {
		src = file
	}
	if in, err = run.NewInput(src, ""); err != nil {
		closeInput()
		return nil, nil, &fault.Error{Kind: "bolt/file-error", Msg: fmt.Sprintf("The input of --stdin could not be kept: %v", err)}
	}
	return in, closeInput, nil
}
