package types_test

import (
	"slices"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/catalog/types"
	"bolt/format/ordered"
)

func TestMetaOf(t *testing.T) {
	m, problems := types.MetaOf(ordered.Of("retry", int64(-1), "delay", int64(1500), "timeout", int64(2000), "poll", int64(5), "limit", 0.2, "burst", int64(5),
		"sema", ordered.Strings([]string{"z:3", "foo:1", "foo", "a:b"}), "hidden", true, "autoedge", false, "autogroup", false))
	want := types.Meta{Retry: -1, Delay: 1500 * time.Millisecond, Timeout: 2 * time.Second, Poll: 5 * time.Second, Limit: 0.2, Burst: 5, Hidden: true, NoEdges: true, NoGroup: true,
		Semaphores: []types.Semaphore{{"a:b", 1}, {"foo", 1}, {"foo:1", 1}, {"z:3", 3}}}
	if problems != nil || !slices.Equal(m.Semaphores, want.Semaphores) {
		t.Errorf("got %+v, %v", m, problems)
	}
	m.Semaphores, want.Semaphores = nil, nil
	if m.Retry != want.Retry || m.Delay != want.Delay || m.Timeout != want.Timeout || m.Poll != want.Poll || m.Limit != want.Limit || m.Burst != want.Burst ||
		!m.Hidden || !m.NoEdges || !m.NoGroup {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

// TestMetaOfManifest checks that a wrong meta of a manifest is an error of the resource, and that a parameter of a container is none.
func TestMetaOfManifest(t *testing.T) {
	r := &catalog.Resource{Ref: catalog.Ref{Type: "File", Title: "/x"}, Kind: catalog.KindType, Params: ordered.Of("meta", ordered.Of("sema", "a", "noop", true, "retry", "x"))}
	errs := types.Check(r)
	if len(errs) != 2 || errs[0].Error() != "The parameter meta of File[/x] is wrong: its key noop is unknown: noop is a parameter of the resource" ||
		errs[1].Error() != "The parameter meta of File[/x] is wrong: its key retry must be an integer from -1 to 32767" {
		t.Errorf("got %v", errs)
	}
	r.Params.Set("meta", "x")
	if errs := types.Check(r); len(errs) != 1 {
		t.Errorf("got %v", errs)
	}
	r.Kind, r.Type = catalog.KindDefine, "Web::Vhost"
	if errs := types.Check(r); errs != nil {
		t.Errorf("got %v", errs)
	}
}

// graph returns the order of the resources of a graph, which are given as TYPE, TITLE and parameters.
func graph(t *testing.T, resources ...*catalog.Resource) []string {
	t.Helper()
	c := &catalog.Catalog{Graph: true}
	top := &catalog.Resource{Ref: catalog.Ref{Type: "Class", Title: "main"}, Kind: catalog.KindUnknown}
	for _, r := range append([]*catalog.Resource{top}, resources...) {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
		if r != top {
			c.Edges = append(c.Edges, catalog.Edge{Source: top.Ref, Target: r.Ref})
		}
	}
	list, err := order.Of(c, types.Order(c))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.String())
	}
	return got
}

func res(typ, title string, params ...any) *catalog.Resource {
	return &catalog.Resource{Ref: catalog.Ref{Type: typ, Title: title}, Kind: catalog.KindType, Params: ordered.Of(params...)}
}

// TestAutoEdges checks the edges that mgmt documents and shows in examples/yaml/autoedges1 to 5, with kinds and parameters of Puppet. The
// order of the graphs is reversed.
func TestAutoEdges(t *testing.T) {
	for _, tt := range []struct {
		name  string
		graph []*catalog.Resource
		want  []string
	}{
		{"a directory before its file", []*catalog.Resource{res("File", "/tmp/foo/bar/f1"), res("File", "/tmp/foo", "ensure", "directory")}, []string{"File[/tmp/foo]", "File[/tmp/foo/bar/f1]"}},
		{"a package before its files and its service", []*catalog.Resource{res("Service", "drbd"), res("File", "/etc/drbd.d"), res("File", "/etc/drbd.conf"), res("File", "/tmp/foo"), res("Package", "drbd-utils")},
			[]string{"File[/tmp/foo]", "Package[drbd-utils]", "Service[drbd]", "File[/etc/drbd.d]", "File[/etc/drbd.conf]"}},
		{"a package of a daemon", []*catalog.Resource{res("Service", "chronyd.service"), res("Service", "sshd"), res("Package", "chrony"), res("Package", "openssh-server")},
			[]string{"Package[chrony]", "Service[chronyd.service]", "Package[openssh-server]", "Service[sshd]"}},
		{"a package that is removed", []*catalog.Resource{res("Service", "web"), res("Package", "web", "ensure", "absent")}, []string{"Service[web]", "Package[web]"}},
		{"a unit file before its service", []*catalog.Resource{res("Service", "app"), res("File", "/etc/systemd/system/app.service")}, []string{"File[/etc/systemd/system/app.service]", "Service[app]"}},
		{"groups before their user", []*catalog.Resource{res("User", "edgeuser2", "gid", "edgegroup", "groups", []any{"edgegroup2"}), res("Group", "edgegroup2"), res("Group", "edgegroup")},
			[]string{"Group[edgegroup2]", "Group[edgegroup]", "User[edgeuser2]"}},
		{"an owner before the file", []*catalog.Resource{res("File", "/srv/x", "owner", "bob", "group", "staff"), res("Group", "staff"), res("User", "bob")}, []string{"Group[staff]", "User[bob]", "File[/srv/x]"}},
		{"what an exec needs", []*catalog.Resource{res("Exec", "/usr/sbin/nginx -t", "group", "www"), res("Group", "www"), res("Package", "nginx")}, []string{"Group[www]", "Package[nginx]", "Exec[/usr/sbin/nginx -t]"}},
		{"none for autoedge: false", []*catalog.Resource{res("File", "/srv/d/x", "owner", "bob", "meta", ordered.Of("autoedge", false)), res("User", "bob"), res("File", "/srv/d")},
			[]string{"File[/srv/d/x]", "User[bob]", "File[/srv/d]"}},
		{"none from a package with autoedge: false", []*catalog.Resource{res("Service", "mysql"), res("Package", "mysql-server", "meta", ordered.Of("autoedge", false))}, []string{"Service[mysql]", "Package[mysql-server]"}},
		{"none that would make a cycle", []*catalog.Resource{res("File", "/etc/mysql/my.cnf", "owner", "bob", "before", []any{"Package[mysql-server]"}), res("Package", "mysql-server"), res("User", "bob")},
			[]string{"User[bob]", "File[/etc/mysql/my.cnf]", "Package[mysql-server]"}},
		{"not all of a cycle", []*catalog.Resource{res("File", "/etc/web/x", "before", []any{"Exec[/bin/true]"}), res("Exec", "/bin/true", "before", []any{"Package[web]"}), res("Package", "web"), res("File", "/etc/web")},
			[]string{"File[/etc/web]", "File[/etc/web/x]", "Exec[/bin/true]", "Package[web]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := graph(t, tt.graph...); !slices.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}
