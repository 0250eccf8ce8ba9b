package openssl

import (
	"context"

	"bolt/apply/resource"
)

// Request returns the type x509_request.
func Request() resource.Type { return requestType{} }

type requestType struct{}

// A request is one certificate signing request.
type request struct {
	file
	key       key
	template  string
	force     bool
	encrypted bool
}

// New implements resource.Type.
func (requestType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &request{file: newFile(&f, "x509_request", "certificate request", pemRequest, pemOldRequest), force: f.Bool("force", false), encrypted: f.Bool("encrypted", true)}
	x.key = key{f.Text("private_key", beside(x.path, ".key")), f.Text("password", "")}
	x.template = f.Text("template", beside(x.path, ".cnf"))
	needPath(&f, "private_key", x.key.path)
	needPath(&f, "template", x.template)
	return x, f.Err
}

// Read implements resource.Item.
func (x *request) Read(ctx context.Context, h *resource.Host) error {
	if err := x.read(ctx, h); err != nil || !x.is.exists || x.ensure != "present" || !x.force {
		return err
	}
	block, err := x.block()
	if err != nil {
		return err
	}
	fits, err := x.key.fits(ctx, h, "req", block)
	if !fits {
		x.wrong = "it is not for the private key"
	}
	return err
}

// Watch implements resource.Watcher. With force, Read compares the file with the private key.
func (x *request) Watch(context.Context, *resource.Host) []resource.Watch {
	if x.force {
		return resource.Paths(x.path, x.key.path)
	}
	return resource.Paths(x.path)
}

func (x *request) make(ctx context.Context, h *resource.Host) (string, error) {
	args := []string{"req", "-new", "-key", x.key.path, "-config", x.template}
	if !x.encrypted {
		args = append(args, "-nodes")
	}
	return call{args: args, password: x.key.password}.make(ctx, h, pemRequest, pemOldRequest)
}

// Do implements resource.Item.
func (x *request) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return x.change(ctx, h, c, 0o644, func() (string, error) { return x.make(ctx, h) })
}

// Refresh makes the request again, for a new key or template.
func (x *request) Refresh(ctx context.Context, h *resource.Host, made []resource.Change) error {
	return x.again(ctx, h, made, func() (string, error) { return x.make(ctx, h) })
}
