package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
)

// Versions of the API: for lists, and for the lists of a scale set. The
// providers of network addresses of a scale set only support the latter.
const (
	version    = "2019-07-01"
	versionSet = "2017-03-30"
)

// machines returns the virtual machines of a selection in the form of the
// resource manager. It adds the keys network_interfaces and public_ip_addresses
// and, for the first interface and address, public_ip_address, fqdn and
// private_ip_address.
func (s *session) machines(ctx context.Context, want selection) ([]*ordered.Map, error) {
	var machines []*ordered.Map
	err := s.list(ctx, want, "Microsoft.Compute", "virtualMachines", func(m *ordered.Map) {
		if want.matches(m) {
			machines = append(machines, m)
		}
	})
	if err != nil || len(machines) == 0 {
		return nil, err
	}
	cards, err := s.index(ctx, want, "networkInterfaces")
	if err != nil {
		return nil, err
	}
	addresses, err := s.index(ctx, want, "publicIPAddresses")
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		connect(m, cards, addresses)
	}
	return machines, nil
}

// matches reports whether a machine is in a location and has all tags. Case
// matters in values, but not in names.
func (want selection) matches(m *ordered.Map) bool {
	if want.location != "" && m.Value("location") != want.location {
		return false
	}
	tags, _ := m.Value("tags").(*ordered.Map)
	found := 0
	for name, v := range tags.All() {
		if text, ok := want.tags[strings.ToLower(name)]; ok {
			if v != text {
				return false
			}
			found++
		}
	}
	return found == len(want.tags)
}

// connect adds the data of its interfaces to a machine.
func connect(m *ordered.Map, cards, addresses map[string]*ordered.Map) {
	refs, _ := mapping.Find(m, "properties.networkProfile.networkInterfaces")
	list, _ := refs.([]any)
	list = slices.Clone(list)
	primary := func(v any) bool {
		m, _ := v.(*ordered.Map)
		p, ok := mapping.Find(m, "properties.primary")
		if !ok {
			p = m.Value("primary")
		}
		return p == true
	}
	slices.SortStableFunc(list, func(a, b any) int {
		switch {
		case primary(a) == primary(b):
			return 0
		case primary(a):
			return -1
		}
		return 1
	})
	interfaces, public := []any{}, []any{}
	for _, v := range list {
		card := lookUp(cards, v)
		if card == nil {
			continue
		}
		interfaces = append(interfaces, card)
		configs, _ := mapping.Find(card, "properties.ipConfigurations")
		for _, c := range anys(configs) {
			set(m, "private_ip_address", c, "properties.privateIPAddress")
			ref, _ := mapping.Find(c, "properties.publicIPAddress")
			address := lookUp(addresses, ref)
			if address == nil {
				continue
			}
			if len(public) == 0 {
				set(m, "public_ip_address", address, "properties.ipAddress")
				set(m, "fqdn", address, "properties.dnsSettings.fqdn")
			}
			public = append(public, address)
		}
	}
	m.Set("network_interfaces", interfaces)
	m.Set("public_ip_addresses", public)
}

func anys(v any) []any { list, _ := v.([]any); return list }

// set sets a key that is not set yet to the value at a path.
func set(m *ordered.Map, key string, from any, path string) {
	if v, ok := mapping.Find(from, path); ok && m.Value(key) == nil {
		m.Set(key, v)
	}
}

// lookUp returns the resource of a reference. Case does not matter in names of
// resources.
func lookUp(index map[string]*ordered.Map, ref any) *ordered.Map {
	m, _ := ref.(*ordered.Map)
	id, _ := m.Value("id").(string)
	return index[strings.ToLower(id)]
}

// index returns a list by the names of its resources.
func (s *session) index(ctx context.Context, want selection, kind string) (map[string]*ordered.Map, error) {
	byID := make(map[string]*ordered.Map)
	err := s.list(ctx, want, "Microsoft.Network", kind, func(m *ordered.Map) {
		if id, _ := m.Value("id").(string); id != "" {
			byID[strings.ToLower(id)] = m
		}
	})
	return byID, err
}

// list requests all resources of a kind.
func (s *session) list(ctx context.Context, want selection, provider, kind string, each func(*ordered.Map)) error {
	path := []string{"subscriptions", want.subscription}
	v := version
	if want.group != "" {
		path = append(path, "resourceGroups", want.group)
	}
	if want.set != "" {
		path = append(path, "providers", "Microsoft.Compute", "virtualMachineScaleSets", want.set, kind)
		v = versionSet
	} else {
		path = append(path, "providers", provider, kind)
	}
	for i, p := range path {
		if path[i] = url.PathEscape(p); p == "." || p == ".." {
			return fmt.Errorf("%q is not the name of a resource", p)
		}
	}
	first := s.api.JoinPath(path...)
	first.RawQuery = url.Values{"api-version": {v}}.Encode()
	return cloud.Pages(func(token string) (string, error) {
		at := first
		if token != "" {
			// Only this server may get the token.
			next, err := url.Parse(token)
			if err != nil || next.Scheme != first.Scheme || !strings.EqualFold(next.Host, first.Host) || next.User != nil {
				return "", fmt.Errorf("%s: the next page of the list is on another server, which bolt does not query", fetch.Place(first))
			}
			at = next
		}
		page, err := s.page(ctx, at)
		if err != nil {
			return "", err
		}
		for _, v := range anys(page.Value("value")) {
			if m, ok := v.(*ordered.Map); ok {
				each(m)
			}
		}
		next, _ := page.Value("nextLink").(string)
		return next, nil
	})
}

// page requests one page of a list.
func (s *session) page(ctx context.Context, at *url.URL) (*ordered.Map, error) {
	a, err := s.client.Ask(ctx, cloud.Quiet, func() (fetch.Request, error) {
		return fetch.Request{Method: http.MethodGet, URL: at, Header: http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + s.token.Reveal()}}}, nil
	})
	if err != nil {
		return nil, err
	}
	if a.Code != http.StatusOK {
		return nil, s.refused(at, a)
	}
	v, err := ordered.ParseJSON(a.Body)
	page, ok := v.(*ordered.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: the answer is not a JSON object", fetch.Place(at))
	}
	if _, ok := page.Value("value").([]any); !ok {
		return nil, fmt.Errorf("%s: %w", fetch.Place(at), errors.New("the answer is not a list of resources"))
	}
	return page, nil
}

// refused returns the error for an error response from the resource manager.
func (s *session) refused(at *url.URL, a *fetch.Answer) error {
	var said struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(a.Body, &said) // an answer that is not JSON has no message
	text := a.Status
	if said.Error.Code != "" {
		text += ": " + fetch.Shown(said.Error.Code+": "+said.Error.Message, s.token.Reveal())
	}
	e := &fault.Error{Kind: "bolt/plugin-error", Msg: fetch.Place(at) + ": " + text}
	switch a.Code {
	case http.StatusUnauthorized:
		e.Hint = "The login is for another cloud or tenant, or has expired. Set tenant_id, or log in again with 'az login'."
	case http.StatusForbidden:
		e.Hint = "Assign the role Reader of the subscription or the resource group to the login."
	case http.StatusNotFound:
		e.Hint = "Check subscription_id, resource_group and scale_set."
	case http.StatusTooManyRequests:
		e.Hint = "Try again later. With _cache in the reference, bolt queries Azure less often."
	}
	return e
}
