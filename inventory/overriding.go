package inventory

import (
	"context"

	"bolt/internal/nodeset"
	"bolt/transport"
)

// Overriding returns the folded names of targets whose value of a setting in the
// inventory differs from the value that given returns for their transport; "" if
// there are none. A target whose data cannot be read is left out, because it fails
// later on its own. Overriding returns an error only if ctx is done.
func Overriding(ctx context.Context, targets []*Target, setting string, given func(transport string) any) (string, error) {
	var names []string
	for _, t := range targets {
		data, err := t.Data(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			continue
		}
		has, known := data.Config.Get(setting)
		if s, secret := has.(transport.Secret); secret {
			has = s.Reveal()
		}
		if known && has != given(data.Transport) {
			names = append(names, t.SafeName())
		}
	}
	if names == nil {
		return "", nil
	}
	return nodeset.Fold(names), nil
}
