package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"bolt/apply/provider/curl"
	"bolt/apply/resource"
)

// Limits for web servers. Puppet has the same number of redirects.
const (
	headLimit     = 5 * time.Minute
	downloadLimit = 6 * time.Hour
	stallSeconds  = 300
	mostBytes     = 100 << 30
	mostRedirects = 10
)

// onWeb reports whether a source is on a web server.
func onWeb(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// head queries the attributes of a file on a web server. As in Puppet, the checksum comes from a header. The
// kinds are tried in this order: the wanted kind, sha256, sha1, md5, and the time of the last change. The result is nil if the server
// does not have the file.
func (f *item) head(ctx context.Context, h *resource.Host, source string) (*metadata, error) {
	c := request(source)
	c.Flag("head")
	answer, err := headers(ctx, h, c)
	if err == nil && (answer.code == 403 || answer.code == 405) { // servers that refuse HEAD
		c = request(source)
		c.Set("range", "0-0")
		c.Set("dump-header", "-")
		c.Set("output", os.DevNull)
		answer, err = headers(ctx, h, c)
	}
	if err != nil {
		return nil, fmt.Errorf("the source %s: %w", curl.Named(source, f.r.Secret("source")), err)
	}
	if answer.code < 200 || answer.code > 299 {
		return nil, nil //nolint:nilnil // the next source is tried
	}
	m := &metadata{kind: regular, url: source}
	for _, k := range []kind{f.kind, sha, "sha1", "md5"} {
		if sum := answer.sum(k); sum != "" {
			m.sum = k.text(sum)
			return m, nil
		}
	}
	m.time = time.Now().Truncate(time.Second) // without the header, the file always differs
	if at, err := time.Parse(time.RFC1123, answer.Get("Last-Modified")); err == nil {
		m.time = at
	}
	m.sum = mtime.text(m.time.UTC().Format(timeFormat))
	return m, nil
}

// request returns the settings of all requests for a source.
func request(source string) *curl.Config {
	c := curl.New(escape(source))
	c.Set("proto", "=http,https")
	c.Set("proto-redir", "=http,https")
	c.Number("max-redirs", mostRedirects)
	c.Number("speed-limit", 1)
	c.Number("speed-time", stallSeconds)
	return c
}

// escape encodes the bytes that cannot be in a URL.
func escape(source string) string {
	var b strings.Builder
	for _, c := range []byte(source) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// An answer has the code and the headers of a web server.
type answer struct {
	code int
	textproto.MIMEHeader
}

// sum returns the checksum of a kind in the headers; "" if they have none.
func (a *answer) sum(k kind) string {
	if !k.hashed() {
		return ""
	}
	sum := strings.ToLower(a.Get("X-Checksum-" + string(k)))
	if sum == "" && k == "md5" {
		digest, _ := base64.StdEncoding.DecodeString(a.Get("Content-MD5"))
		sum = hex.EncodeToString(digest)
	}
	if !k.valid(sum) {
		return ""
	}
	return sum
}

// headers runs curl, which prints the headers.
func headers(ctx context.Context, h *resource.Host, c *curl.Config) (*answer, error) {
	out, err := c.Run(ctx, h, nil, headLimit)
	if err != nil {
		return nil, err
	}
	return parseHeaders(out.Stdout)
}

// parseHeaders reads the last answer that curl printed. The answers before it come from proxies and redirects.
func parseHeaders(text []byte) (*answer, error) {
	var last *answer
	for r := textproto.NewReader(bufio.NewReader(bytes.NewReader(text))); ; {
		line, err := r.ReadLine()
		switch {
		case err == io.EOF && last != nil:
			return last, nil
		case err != nil:
			return nil, errors.New("curl printed no answer of a server")
		case line == "":
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/") {
			return nil, fmt.Errorf("curl printed %.80q instead of an answer of a server", line)
		}
		last = &answer{}
		if last.code, err = strconv.Atoi(fields[1]); err != nil {
			return nil, fmt.Errorf("the server answered with the code %.80q", fields[1])
		}
		if last.MIMEHeader, err = r.ReadMIMEHeader(); err != nil && err != io.EOF {
			return nil, fmt.Errorf("the headers of the server: %w", err)
		}
	}
}

// get downloads a file of a web server. The content is not stored: curl waits for the reader.
func (f *item) get(ctx context.Context, h *resource.Host, source string) (io.ReadCloser, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := request(source)
	c.Flag("fail")
	c.Number("max-filesize", mostBytes)
	ctx, cancel := context.WithCancel(ctx)
	d := &download{File: from, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		defer to.Close()
		if _, err := c.Run(ctx, h, to, downloadLimit); err != nil {
			d.err = fmt.Errorf("the source %s: %w", curl.Named(source, f.r.Secret("source")), err)
		}
	}()
	return d, nil
}

// A download is the content that curl prints. At its end, Read returns the error of curl.
type download struct {
	*os.File
	cancel context.CancelFunc
	done   chan struct{} // closed after curl ended
	err    error         // of curl; set before done is closed
}

// WriteTo hides the method of File, which would not see the error of curl.
func (d *download) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{d}) }

func (d *download) Read(p []byte) (int, error) {
	n, err := d.File.Read(p)
	if err == io.EOF {
		<-d.done
		if d.err != nil {
			err = d.err
		}
	}
	return n, err
}

// Close ends curl.
func (d *download) Close() error {
	err := d.File.Close()
	d.cancel()
	<-d.done
	return err
}
