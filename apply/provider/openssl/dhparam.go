package openssl

import (
	"context"
	"strconv"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Parameters returns the type dhparam.
func Parameters() resource.Type { return parametersType{} }

type parametersType struct{}

// A parameters is one file of parameters for Diffie-Hellman.
type parameters struct {
	file
	bits int64
	fast bool
}

// New implements resource.Type.
func (parametersType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &parameters{file: newFile(&f, "dhparam", "parameters for Diffie-Hellman", pemDH, pemX942), fast: f.Bool("fastmode", false)}
	var err error
	if x.bits, err = r.Int("size", 512); err != nil {
		return nil, err
	}
	if x.bits <= 0 {
		f.Refuse("size", "must be a positive number")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *parameters) Read(ctx context.Context, h *resource.Host) error {
	if err := x.read(ctx, h); err != nil {
		return err
	}
	if x.is.exists && x.ensure == "present" && find([]byte(x.is.text), x.blocks...) == nil {
		h.Logf(x.r.Ref, report.Warning, "%s has no parameters for Diffie-Hellman in PEM format. bolt leaves it as it is", x.path)
	}
	return nil
}

// Do implements resource.Item.
func (x *parameters) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return x.change(ctx, h, c, 0o644, func() (string, error) {
		args := []string{"dhparam"}
		if x.fast {
			args = append(args, "-dsaparam")
		}
		return call{args: append(args, strconv.FormatInt(x.bits, 10)), timeout: timeoutOfPrimes}.make(ctx, h, x.blocks...)
	})
}
