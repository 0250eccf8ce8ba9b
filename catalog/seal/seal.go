// Package seal encrypts the secrets of catalogs that are stored, and decrypts them when the
// catalogs are read.
package seal

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/format/fault"
	"bolt/format/ordered"
)

// A Vault encrypts and decrypts texts with the keys of a project.
type Vault struct {
	Encrypt func(ctx context.Context, text string) (string, error)
	Decrypt func(ctx context.Context, value string) (string, error)
}

// kind is the kind of the errors of this package.
const kind = "bolt/catalog-error"

// sealedKey is the key of the object that is encrypted: {"bolt_sealed": VALUE}. Other encrypted strings, which
// a manifest can have as values, are therefore not decrypted.
const sealedKey = "bolt_sealed"

// sealedPrefix begins all encrypted values of the plugin pkcs7.
const sealedPrefix = "ENC["

// Seal returns a catalog in which each secret parameter is an encrypted string and is in sensitive_parameters.
// If the catalog has no secrets, Seal returns the catalog itself. The error is a *fault.Error.
func (v Vault) Seal(ctx context.Context, c *catalog.Catalog) (*catalog.Catalog, error) {
	if !slices.ContainsFunc(c.Resources(), hasSecrets) {
		return c, nil
	}
	return c.Map(func(r *catalog.Resource) (*catalog.Resource, error) {
		if !hasSecrets(r) {
			return r, nil
		}
		out := *r
		out.Params, out.Sensitive = r.Params.Clone(), slices.Clone(r.Sensitive)
		for _, name := range r.Params.Keys() {
			if !r.Secret(name) {
				continue
			}
			text, err := ordered.Of(sealedKey, r.Params.Value(name)).MarshalJSON()
			if err != nil {
				return nil, err
			}
			value, err := v.Encrypt(ctx, string(text))
			if err != nil {
				e := fault.New(kind, "The catalog of %s has secrets, which cannot be encrypted: %v", c.Name, err)
				e.Hint = "Run 'bolt secret createkeys'. --format json prints a catalog with its secrets in clear text"
				return nil, e
			}
			out.Params.Set(name, value)
			if !slices.Contains(out.Sensitive, name) {
				out.Sensitive = append(out.Sensitive, name)
			}
		}
		return &out, nil
	})
}

func hasSecrets(r *catalog.Resource) bool {
	return slices.ContainsFunc(r.Params.Keys(), r.Secret)
}

// Open decrypts the values that Seal has encrypted. A value that cannot be decrypted stays encrypted: it is
// still secret, and differs from each other encrypted value.
func (v Vault) Open(ctx context.Context, c *catalog.Catalog) (*catalog.Catalog, error) {
	if v.Decrypt == nil || !slices.ContainsFunc(c.Resources(), isSealed) {
		return c, nil
	}
	return c.Map(func(r *catalog.Resource) (*catalog.Resource, error) {
		if !isSealed(r) {
			return r, nil
		}
		out := *r
		out.Params = r.Params.Clone()
		for _, name := range r.Sensitive {
			value, is := r.Params.Value(name).(string)
			if !is || !strings.HasPrefix(value, sealedPrefix) {
				continue
			}
			if opened, err := v.value(ctx, value); err == nil {
				out.Params.Set(name, opened)
			} else if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		return &out, nil
	})
}

func isSealed(r *catalog.Resource) bool {
	return slices.ContainsFunc(r.Sensitive, func(name string) bool {
		value, is := r.Params.Value(name).(string)
		return is && strings.HasPrefix(value, sealedPrefix)
	})
}

var errNotSealed = errors.New("not a sealed value")

func (v Vault) value(ctx context.Context, sealed string) (any, error) {
	text, err := v.Decrypt(ctx, sealed)
	if err != nil {
		return nil, err
	}
	data, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	m, is := data.(*ordered.Map)
	if !is || m.Len() != 1 {
		return nil, errNotSealed
	}
	opened, is := m.Get(sealedKey)
	if !is {
		return nil, errNotSealed
	}
	return opened, nil
}
