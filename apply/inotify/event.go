package inotify

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// An event is one event of the kernel (struct inotify_event of inotify(7)).
type event struct {
	wd   int32
	mask uint32
	name string // of the file in the watched directory; "" for the watched file itself
}

// headerSize is the size of the fixed part: wd, mask, cookie and the length of the name, 4 bytes each.
const headerSize = 16

// maxName bounds the length of a name with its padding. The kernel sends NAME_MAX (255) and a NUL, rounded up.
const maxName = 4096

// errTorn is the error of parse for bytes that are not whole events.
var errTorn = errors.New("the kernel sent an event of inotify that is not whole")

// parse takes a buffer of events apart. It returns the events before an error, too.
func parse(b []byte) (events []event, err error) {
	for len(b) > 0 {
		if len(b) < headerSize {
			return events, errTorn
		}
		n := binary.NativeEndian.Uint32(b[12:])
		if n > maxName || int(n) > len(b)-headerSize {
			return events, errTorn
		}
		name := b[headerSize : headerSize+int(n)]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		events = append(events, event{int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), string(name)})
		b = b[headerSize+int(n):]
	}
	return events, nil
}
