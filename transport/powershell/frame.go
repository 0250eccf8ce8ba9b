package powershell

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"bolt/transport"
	"bolt/transport/archive"
)

// A frame is a key, a space, the decimal length of its data, a line feed, and
// the data. A directory is "dir" with its path. A file is "file" with its path,
// any number of "data", and "sum" with the SHA-256 of them all in hexadecimal
// digits. From the machine, "size" comes after "file". Paths have slashes.
// "end" is the last frame.

// A framer writes frames. It stores the first error.
type framer struct {
	w   io.Writer
	err error
}

func (f *framer) frame(key string, data []byte) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, "%s %d\n", key, len(data))
	}
	if f.err == nil {
		_, f.err = f.w.Write(data)
	}
}

func (f *framer) text(key, text string) { f.frame(key, []byte(text)) }

// given writes a text if it is not empty.
func (f *framer) given(key, text string) {
	if text != "" {
		f.text(key, text)
	}
}

func (f *framer) flag(key string, on bool) {
	if on {
		f.text(key, "1")
	}
}

func (f *framer) file(name string, data []byte, sum string) {
	if sum == "" {
		s := sha256.Sum256(data)
		sum = hex.EncodeToString(s[:])
	}
	f.text("file", name)
	f.frame("data", data)
	f.text("sum", sum)
}

// tree writes a tar stream of package archive.
func (f *framer) tree(r io.Reader) error {
	tr := tar.NewReader(r)
	buf := make([]byte, 64<<10)
	for {
		h, err := tr.Next()
		switch {
		case err == io.EOF:
			f.text("end", "")
			return f.err
		case err != nil:
			return err
		case h.Typeflag == tar.TypeDir:
			name := strings.TrimSuffix(h.Name, "/")
			if err := checkName(name); err != nil {
				return err
			}
			f.text("dir", name)
			continue
		}
		if err := checkName(h.Name); err != nil {
			return err
		}
		f.text("file", h.Name)
		sum := sha256.New()
		for {
			n, err := tr.Read(buf)
			if n > 0 {
				sum.Write(buf[:n])
				f.frame("data", buf[:n])
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if f.err != nil {
				return f.err
			}
		}
		f.text("sum", hex.EncodeToString(sum.Sum(nil)))
	}
}

// maxFrame limits a frame from the machine that is not file data. maxData
// limits a frame with file data.
const (
	maxFrame = 64 << 10
	maxData  = 1 << 20
)

// untree converts the frames of a machine, which may be anything, to a tar
// stream. It returns an error of the machine as a farError.
func untree(r *bufio.Reader, a *archive.Writer) error {
	for {
		key, data, err := readFrame(r)
		if err != nil {
			return err
		}
		switch key {
		case "dir":
			err = a.Dir(string(data), 0o755)
		case "file":
			err = unfile(r, a, string(data))
		case "error":
			return farError(data)
		case "end":
			return a.Close()
		default:
			return fmt.Errorf("an unknown frame %q", key)
		}
		if err != nil {
			return err
		}
	}
}

// A farError is an error that PowerShell reported.
type farError string

func (e farError) Error() string { return firstLines(string(e)) }

func unfile(r *bufio.Reader, a *archive.Writer, name string) error {
	key, data, err := readFrame(r)
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(string(data), 10, 64)
	if key != "size" || err != nil || size < 0 {
		return errors.New("a file without a size")
	}
	body := &frameBody{r: r, left: size}
	sum := sha256.New()
	if err := a.File(name, 0o644, size, io.TeeReader(body, sum)); err != nil {
		if read, ok := errors.AsType[*archive.ReadError](err); ok {
			return read.Err
		}
		return err
	}
	key, data, err = readFrame(r)
	switch {
	case err != nil:
		return err
	case key == "error":
		return farError(data)
	case key != "sum" || string(data) != hex.EncodeToString(sum.Sum(nil)):
		return fmt.Errorf("%q did not arrive unchanged", name)
	}
	return nil
}

// A frameBody reads the data of a file.
type frameBody struct {
	r     *bufio.Reader
	left  int64 // remaining bytes of the file
	piece int64 // remaining bytes of the frame
}

func (b *frameBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	for b.piece == 0 {
		key, n, err := readHead(b.r)
		switch {
		case err != nil:
			return 0, err
		case key == "error":
			data, err := readBody(b.r, n, maxFrame)
			if err != nil {
				return 0, err
			}
			return 0, farError(data)
		case key != "data" || n > maxData || n > b.left:
			return 0, errors.New("a file with unexpected frames")
		}
		b.piece = n
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.piece)])
	b.piece -= int64(n)
	b.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func readFrame(r *bufio.Reader) (key string, data []byte, err error) {
	key, n, err := readHead(r)
	if err != nil {
		return "", nil, err
	}
	data, err = readBody(r, n, maxFrame)
	return key, data, err
}

// readHead reads the line before a frame's data.
func readHead(r *bufio.Reader) (key string, n int64, err error) {
	line, err := r.ReadSlice('\n')
	switch {
	case err == io.EOF:
		return "", 0, io.ErrUnexpectedEOF
	case errors.Is(err, bufio.ErrBufferFull):
		return "", 0, errors.New("a frame whose header is too long")
	case err != nil:
		return "", 0, err
	}
	k, size, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	n, err = strconv.ParseInt(string(size), 10, 64)
	if !ok || err != nil || n < 0 {
		return "", 0, fmt.Errorf("%q is not the header of a frame", firstLines(string(line)))
	}
	return string(k), n, nil
}

func readBody(r *bufio.Reader, n, most int64) ([]byte, error) {
	if n > most {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	data := make([]byte, n)
	_, err := io.ReadFull(r, data)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// maxReason limits the remote error text in a message.
const maxReason = 1 << 10

// firstLines prepares remote text for a message: it limits and trims the text,
// and removes control characters except line ends and tabs.
func firstLines(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason] + " …"
	}
	s = strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(s)
}

func unsupported(format string, args ...any) *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf(format, args...)}
}
