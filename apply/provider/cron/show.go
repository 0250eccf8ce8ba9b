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
	slices.Sort(users)
	for _, user := range users {
		t, err := read(ctx, h, user)
		if err != nil {
			return nil, err
		}
		unnamed := make(map[string]int)
		for _, e := range t.entries() {
			title := e.name
			if title == "" {
				words := strings.Join(strings.Fields(e.command), "_")
				unnamed[words]++
				title = fmt.Sprintf("unmanaged:%s-%d", words, unnamed[words])
			}
			if name == "" || name == title {
				list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: title}, Params: e.params(user)})
			}
		}
	}
	if name != "" && list == nil {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Cron", Title: name}, Params: ordered.Of("ensure", "absent")})
	}
	return list, nil
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
