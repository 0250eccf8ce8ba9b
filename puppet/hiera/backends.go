package hiera

import "context"

// A Backend is the function that a level of a hiera.yaml gets its data from.
type Backend struct {
	Level    string // the name of the level
	Function string // such as yaml_data
	Line     int    // 0 if it is unknown
}

// Backends returns the functions of the hierarchies in the hiera.yaml of an environment or, if module is set,
// of a module. Each function is in the list once, with its first level. A file that does not exist has none.
// An error is an *Error.
func (h *Hiera) Backends(ctx context.Context, file string, module bool) ([]Backend, error) {
	place := placeEnv
	if module {
		place = placeModule
	}
	c, err := h.config(ctx, file, place)
	if c == nil || err != nil {
		return nil, err
	}
	if c.late != nil {
		return nil, c.late
	}
	var list []Backend
	seen := make(map[string]bool)
	for _, hierarchy := range [][]*entry{c.hierarchy, c.plan, c.defaults} {
		for _, e := range hierarchy {
			if seen[e.function] {
				continue
			}
			seen[e.function] = true
			s := Backend{Level: e.name, Function: e.function}
			if c.at != nil && e.at != nil {
				s.Line, _ = c.at(e.at...)
			}
			list = append(list, s)
		}
	}
	return list, nil
}
