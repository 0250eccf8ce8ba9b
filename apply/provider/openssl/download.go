package openssl

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"bolt/apply/provider/curl"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// Downloaded returns the type cert_file.
func Downloaded() resource.Type { return downloadedType{} }

type downloadedType struct{}

// A downloaded is one certificate that has a URL.
type downloaded struct {
	file
	source string
	der    bool
	remote []byte // Read: the certificate at the URL, in DER
}

var webURL = lazyregexp.New(`^https?://[^/\s]\S*$`)

// New implements resource.Type.
func (downloadedType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &downloaded{
		file:   newFile(&f, "cert_file", "certificate", pemCertificate, pemTrusted, pemOldX509),
		source: f.Text("source", ""),
		der:    f.Text("format", "pem") == "der",
	}
	if (x.source != "" || x.ensure == "present") && !webURL().MatchString(x.source) {
		f.Refuse("source", "must be a URL with http or https")
	}
	return x, f.Err
}

// Read implements resource.Item. As in Puppet, it downloads the certificate also with noop.
func (x *downloaded) Read(ctx context.Context, h *resource.Host) (err error) {
	if err := x.read(ctx, h); err != nil || x.ensure != "present" {
		return err
	}
	if x.remote, err = x.download(ctx, h); err != nil || !x.is.exists || x.is.text == "" {
		x.is.exists = x.is.exists && x.is.text != ""
		return err
	}
	local, isDER := x.decode([]byte(x.is.text))
	switch {
	case local == nil:
		return fmt.Errorf("%s has no certificate. bolt does not replace it; move it away first", x.path)
	case string(local) != string(x.remote):
		x.wrong = "the source has another certificate"
	case isDER != x.der:
		x.wrong = "it has another format"
	}
	return nil
}

// Watch implements resource.Watcher. The certificate at the URL can change without an event.
func (x *downloaded) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	list := x.file.Watch(ctx, h)
	if x.ensure == "present" {
		list = append(list, resource.Watch{Poll: true})
	}
	return list
}

// decode returns a certificate in DER, and whether data has it in this format; nil if there is none.
func (x *downloaded) decode(data []byte) (der []byte, isDER bool) {
	if isCertificate(data) {
		return data, true
	}
	if block := find(data, x.blocks...); block != nil && isCertificate(block.Bytes) {
		return block.Bytes, false
	}
	return nil, false
}

const (
	downloadLimit = 2 * time.Minute
	maxBytes      = 1 << 20
)

func (x *downloaded) download(ctx context.Context, h *resource.Host) ([]byte, error) {
	c := curl.New(x.source)
	c.Flag("fail")
	c.Set("proto", "=http,https")
	c.Set("proto-redir", "=http,https")
	c.Number("max-redirs", 10)
	c.Number("max-filesize", maxBytes)
	out, err := c.Run(ctx, h, nil, downloadLimit)
	if err != nil {
		return nil, err
	}
	der, _ := x.decode(out.Stdout)
	if der == nil {
		return nil, errors.New("the source has no certificate")
	}
	return der, nil
}

// Do implements resource.Item.
func (x *downloaded) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return x.change(ctx, h, c, 0o644, func() (string, error) {
		if x.der {
			return string(x.remote), nil
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: x.remote})), nil
	})
}
