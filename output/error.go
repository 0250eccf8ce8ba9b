package output

import (
	"bufio"
	"errors"
	"io"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/safetext"
)

// PrintError prints an error that kept an action from starting to w, which is
// standard output as for all fatal errors, unless a command's output is data: its text for people, and in JSON
// one line {"kind","msg","details"}. With NDJSON the line is an event of its
// own.
func PrintError(w io.Writer, f Format, color bool, err error) error {
	out := bufio.NewWriter(w)
	switch f {
	case JSON:
		if err := writeLine(out, errorMap(err)); err != nil {
			return err
		}
	case NDJSON:
		return newNDJSON(Options{}, out).Fatal(err)
	default:
		text := safetext.TerminalString(err.Error())
		_, _ = out.WriteString(paint(red, color, text) + "\n")
	}
	return out.Flush()
}

// errorMap is err as Puppet Bolt writes it. What has no kind is an error of
// our own making.
func errorMap(err error) *ordered.Map {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		e = &fault.Error{Kind: "bolt/internal-error", Msg: err.Error()}
	}
	return e.Map()
}
