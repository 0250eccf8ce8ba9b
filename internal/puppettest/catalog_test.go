package puppettest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
)

// compare returns the difference between a catalog and the catalog of the corpus, ""
// if they are equal. The order of resources, edges, parameters and classes matters. In
// the corpus, tags are sorted, and paths are relative to the environment.
func compare(got *catalog.Catalog, want []byte) (string, error) {
	w, err := catalog.Parse(want)
	if err != nil {
		return "", err
	}
	a, err := lines(got)
	if err != nil {
		return "", err
	}
	b, err := lines(w)
	if err != nil || slices.Equal(a, b) {
		return "", err
	}
	return fmt.Sprintf("compiled\n  %s\nwant\n  %s", strings.Join(a, "\n  "), strings.Join(b, "\n  ")), nil
}

// lines returns the parts of a catalog, one part a line.
func lines(c *catalog.Catalog) (list []string, err error) {
	for _, r := range c.Resources() {
		if r.Virtual {
			continue
		}
		file := r.File
		if i := strings.LastIndex(file, "modules/"); i >= 0 {
			file = file[i:]
		}
		params := []byte("{}")
		if r.Params != nil {
			if params, err = json.Marshal(r.Params); err != nil {
				return nil, err
			}
		}
		text, err := canonical(params)
		if err != nil {
			return nil, err
		}
		tags := slices.Sorted(slices.Values(r.Tags))
		list = append(list, fmt.Sprintf("%s %s at %s:%d, exported %v, tags %q, sensitive %q: %s", r.Kind, r.Ref, file, r.Line, r.Exported, tags, r.Sensitive, text))
	}
	for _, e := range c.Edges {
		if to := c.Find(e.Target); to == nil || !to.Virtual {
			list = append(list, fmt.Sprintf("%s contains %s", e.Source, e.Target))
		}
	}
	tags := slices.Sorted(slices.Values(c.Tags))
	return append(list, fmt.Sprintf("classes %q", c.Classes), fmt.Sprintf("tags %q", tags)), nil
}
