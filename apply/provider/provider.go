// Package provider lists the resource types that bolt applies.
package provider

import (
	"bolt/apply/provider/account"
	"bolt/apply/provider/cron"
	"bolt/apply/provider/exec"
	"bolt/apply/provider/file"
	"bolt/apply/provider/mount"
	"bolt/apply/provider/notify"
	"bolt/apply/provider/pkg"
	"bolt/apply/provider/service"
	"bolt/apply/provider/tidy"
	"bolt/apply/resource"
)

// All returns the types, by capitalized name.
func All() map[string]resource.Type {
	return map[string]resource.Type{
		"Cron":    cron.Type(),
		"Exec":    exec.Type(),
		"File":    file.New(),
		"Group":   account.Group(),
		"Mount":   mount.Type(),
		"Notify":  notify.Type(),
		"Package": pkg.Type(),
		"Service": service.Type(),
		"Tidy":    tidy.Type{},
		"User":    account.User(),
	}
}
