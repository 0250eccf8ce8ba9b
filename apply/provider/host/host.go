// Package host applies resources of the type host: the entries of the hosts file.
package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"bolt/apply/provider/record"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

const defaultTarget = "/etc/hosts"

type hostType struct{ *record.Store }

// Type returns the type host.
func Type() resource.Type {
	// Puppet makes a new file with this mode.
	return hostType{&record.Store{Format: record.Format{Parse: parse, Line: line, Mode: 0o600}}}
}

// A label is a part of a host name.
var label = lazyregexp.New(`^(?:\w+|\w[\w-]+\w)$`)

// New implements resource.Type.
func (t hostType) New(r *resource.Resource) (resource.Item, error) {
	i := &record.Item{Store: t.Store, Type: "host"}
	name, given, err := r.Text("name")
	if err != nil {
		return nil, err
	}
	if !given {
		name = r.Title
	}
	for part := range strings.SplitSeq(strings.TrimRight(name, "."), ".") {
		if !label().MatchString(part) {
			return nil, &resource.ParamError{Param: "name", Problem: "must be a host name" + r.Shown("name", name)}
		}
	}
	i.Name = name
	ensure, _, err := r.Text("ensure")
	if err != nil {
		return nil, err
	}
	i.Absent = ensure == "absent"
	if err := properties(i, r); err != nil {
		return nil, err
	}
	target, given, err := r.Text("target")
	if err != nil {
		return nil, err
	}
	i.Places = func(_ context.Context, h *resource.Host) ([]record.Place, error) {
		places := []record.Place{{Path: h.Path(defaultTarget)}}
		if given && target != defaultTarget {
			places = append(places, record.Place{Path: target})
		}
		return places, nil
	}
	return i, nil
}

func properties(i *record.Item, r *resource.Resource) error {
	ip, given, err := r.Text("ip")
	if err != nil {
		return err
	}
	if given {
		if !validIP(ip) {
			return bad(r, "ip", "must be an IP address", ip)
		}
		i.Want = append(i.Want, record.Property{Name: "ip", Value: ip})
	}
	aliases, given, err := r.Texts("host_aliases")
	if err != nil {
		return err
	}
	if given {
		for _, a := range aliases {
			if a == "" || strings.ContainsAny(a, " \t\r\n\f\v#") {
				return bad(r, "host_aliases", "must be names without blanks, and an empty list for none", a)
			}
		}
		i.Want = append(i.Want, record.Property{Name: "host_aliases", Value: strings.Join(aliases, " ")})
	}
	comment, given, err := r.Text("comment")
	if err != nil {
		return err
	}
	if given {
		if strings.ContainsAny(comment, "\r\n") {
			return bad(r, "comment", "must be one line", comment)
		}
		i.Want = append(i.Want, record.Property{Name: "comment", Value: comment})
	}
	return nil
}

// bad is the error for a value, which is shown unless it is secret.
func bad(r *resource.Resource, param, problem, value string) error {
	if !r.Secret(param) {
		problem += fmt.Sprintf(", and has %q", value)
	}
	return &resource.ParamError{Param: param, Problem: problem}
}

// validIP accepts the addresses that Puppet accepts, such as 010.0.0.1.
func validIP(text string) bool {
	if addr, err := netip.ParseAddr(text); err == nil {
		return !strings.ContainsAny(addr.Zone(), " \t\r\n\f\v#")
	}
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if p == "" || len(p) > 3 || strings.Trim(p, "0123456789") != "" || len(p) == 3 && p > "255" {
			return false
		}
	}
	return len(parts) == 4
}

// A line has an address, a name, aliases, and perhaps a comment after a #.
var entry = lazyregexp.New(`^([0-9A-Fa-f:][^\s#]+)\s+([^#\s+]\S*)\s*(.*?)(?:\s*#\s*(.*?))?\s*$`)

func parse(_ string, lines []string) []record.Record {
	records := make([]record.Record, len(lines))
	for i, l := range lines {
		if m := entry().FindStringSubmatch(l); m != nil {
			records[i] = record.Record{Name: m[2], Values: record.Values{
				"ip": m[1], "host_aliases": strings.Join(strings.Fields(m[3]), " "), "comment": m[4],
			}}
		}
	}
	return records
}

func line(r record.Record) (string, error) {
	if r.Values["ip"] == "" {
		return "", errors.New("the parameter ip is needed for a new entry")
	}
	text := r.Values["ip"] + "\t" + r.Name
	if a := r.Values["host_aliases"]; a != "" {
		text += "\t" + a
	}
	if c := r.Values["comment"]; c != "" {
		text += "\t# " + c
	}
	return text, nil
}

// List implements resource.Lister.
func (t hostType) List(ctx context.Context, h *resource.Host) (list []*resource.Resource, err error) {
	records, err := t.All(ctx, h.Path(defaultTarget))
	for _, r := range records {
		params := ordered.Of("ensure", "present", "ip", r.Values["ip"], "target", h.Path(defaultTarget))
		if a := r.Values["host_aliases"]; a != "" {
			params.Set("host_aliases", ordered.Strings(strings.Fields(a)))
		}
		if c := r.Values["comment"]; c != "" {
			params.Set("comment", c)
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Host", Title: r.Name}, Params: params})
	}
	return list, err
}
