package cron

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// spools are the directories where crontab(1) keeps the crontabs of users, on Debian, SUSE, Red Hat and Alpine.
var spools = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron", "/etc/crontabs"}

// Show implements resource.Shower. A job without a name has a title that begins with "unmanaged:", as in Puppet.
func (cronType) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	err = each(ctx, h, func(user, title string, e *entry, _ table) {
		if name == "" || name == title {
			list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: title}, Params: e.params(user)})
		}
	})
	if name != "" && list == nil {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: name}, Params: ordered.Of("ensure", "absent")})
	}
	return list, err
}

// List implements resource.Lister. A job without a name that belongs to a resource of the catalog is not in the list.
func (cronType) List(ctx context.Context, h *resource.Host) (list []*resource.Resource, err error) {
	declared := make(map[*entry]bool)
	owner := ""
	err = each(ctx, h, func(user, title string, e *entry, t table) {
		if user != owner {
			owner = user
			for _, e := range match(t, withDeclared(ctx, h, user, nil)) {
				declared[e] = true
			}
		}
		if declared[e] && e.name == "" {
			return
		}
		params := e.params(user)
		for _, f := range timeFields { // without all of them, the times would fit other jobs, too
			if e.times[f] == nil && e.special == "" {
				params.Set(f, "absent")
			}
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: title}, Params: params})
	})
	return list, err
}

// each calls f for the jobs of all users, first those of the user of this process. The titles are Puppet's.
func each(ctx context.Context, h *resource.Host, f func(user, title string, e *entry, t table)) error {
	users := []string{(&item{}).owner(ctx, h)}
	for _, dir := range spools {
		files, err := os.ReadDir(h.Path(dir))
		if err != nil { // it is not there, or only root can read it
			continue
		}
		for _, f := range files {
			if u, err := login.FindUser(ctx, h, f.Name()); err == nil && f.Type().IsRegular() && !slices.Contains(users, u.Name) {
				users = append(users, u.Name)
			}
		}
	}
	slices.Sort(users[1:])
	unnamed := 0
	for _, user := range users {
		t, err := read(ctx, h, user)
		if err != nil {
			return err
		}
		for _, e := range t.entries() {
			title := e.name
			if title == "" {
				unnamed++
				title = fmt.Sprintf("unmanaged:%s-%d", strings.Join(strings.Fields(e.command), "_"), unnamed)
			}
			f(user, title, e, t)
		}
	}
	return nil
}

// params are the properties of a job.
func (e *entry) params(user string) *ordered.Map {
	params := ordered.Of("ensure", "present", "command", e.command)
	if len(e.env) > 0 {
		params.Set("environment", ordered.Strings(e.env))
	}
	for _, f := range timeFields {
		if e.times[f] != nil {
			params.Set(f, ordered.Strings(e.times[f]))
		}
	}
	if e.special != "" {
		params.Set("special", e.special)
	}
	params.Set("user", user)
	return params
}
