package openssl

import (
	"context"
	"path/filepath"
	"strconv"

	"bolt/apply/resource"
)

// Certificate returns the type x509_cert.
func Certificate() resource.Type { return certificateType{} }

type certificateType struct{}

// A certificate is one certificate: signed by a CA, by itself from a request, or by itself from the template.
type certificate struct {
	file
	key        key
	template   string
	days       int64
	force      bool
	extensions bool // of the section v3_req
	csr        string
	ca, cakey  string
	caPassword string
}

// New implements resource.Type.
func (certificateType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &certificate{
		file:       newFile(&f, "x509_cert", "certificate", pemCertificate, pemTrusted, pemOldX509),
		force:      f.Bool("force", false),
		extensions: f.Bool("req_ext", false),
		csr:        f.Text("csr", ""),
		ca:         f.Text("ca", ""),
		cakey:      f.Text("cakey", ""),
		caPassword: f.Text("cakey_password", ""),
	}
	x.key = key{f.Text("private_key", beside(x.path, ".key")), f.Text("password", "")}
	x.template = f.Text("template", beside(x.path, ".cnf"))
	var err error
	if x.days, err = r.Int("days", 3650); err != nil {
		return nil, err
	}
	if x.days < 1 {
		f.Refuse("days", "must be at least 1")
	}
	needPath(&f, "private_key", x.key.path)
	needPath(&f, "template", x.template)
	for param, path := range map[string]string{"csr": x.csr, "ca": x.ca, "cakey": x.cakey} {
		if path != "" && !filepath.IsAbs(path) {
			f.RefuseValue(param, "must be an absolute path", path)
		}
	}
	if x.csr != "" && x.ca != "" && x.cakey == "" {
		f.Refuse("cakey", "must be given with ca")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *certificate) Read(ctx context.Context, h *resource.Host) error {
	if err := x.read(ctx, h); err != nil || !x.is.exists || x.ensure != "present" {
		return err
	}
	block, err := x.block()
	if err != nil || !x.force {
		return err
	}
	fits, err := x.key.fits(ctx, h, "x509", block)
	if !fits {
		x.wrong = "it is not for the private key"
	}
	return err
}

// Watch implements resource.Watcher. With force, Read compares the file with the private key.
func (x *certificate) Watch(context.Context, *resource.Host) []resource.Watch {
	if x.force {
		return resource.Paths(x.path, x.key.path)
	}
	return resource.Paths(x.path)
}

func (x *certificate) make(ctx context.Context, h *resource.Host) (string, error) {
	args := []string{"req", "-config", x.template, "-new", "-x509", "-days", strconv.FormatInt(x.days, 10), "-key", x.key.path}
	if x.csr != "" {
		args = []string{"x509", "-req", "-days", strconv.FormatInt(x.days, 10), "-in", x.csr}
		switch {
		case x.ca != "":
			args = append(args, "-extfile", x.template, "-CAcreateserial", "-CA", x.ca, "-CAkey", x.cakey)
		case x.extensions:
			args = append(args, "-signkey", x.key.path, "-extfile", x.template)
		default:
			args = append(args, "-signkey", x.key.path)
		}
	}
	if x.extensions {
		args = append(args, "-extensions", "v3_req")
	}
	c := call{args: args, password: x.key.password}
	if x.caPassword != "" {
		c.password = x.caPassword
	}
	return c.make(ctx, h, pemCertificate)
}

// Do implements resource.Item.
func (x *certificate) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return x.change(ctx, h, c, 0o644, func() (string, error) { return x.make(ctx, h) })
}

// Refresh makes the certificate again, for a new key, request or template.
func (x *certificate) Refresh(ctx context.Context, h *resource.Host, made []resource.Change) error {
	return x.again(ctx, h, made, func() (string, error) { return x.make(ctx, h) })
}
