package firewall

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// persist saves the rules for the next boot, as the system does it. A failure is a warning for a resource of the
// family, because the rules are in force.
func persist(ctx context.Context, h *resource.Host, changed map[family]*resource.Resource) {
	debian := false
	for _, f := range []family{{false}, {true}} {
		r := changed[f]
		if r == nil {
			continue
		}
		var err error
		switch init := "/usr/libexec/iptables/" + f.program(".init").Name; {
		case isFile(h, init):
			err = (&tool.Tool{Name: init, Limit: limit}).Change(ctx, h, "save")
		case h.Find("netfilter-persistent") != "":
			if !debian { // it saves both families
				err = (&tool.Tool{Name: "netfilter-persistent", Limit: limit}).Change(ctx, h, "save")
			}
			debian = true
		default:
			err = save(ctx, h, f)
		}
		if err != nil {
			h.Logf(r.Ref, report.Warning, "The rules are in force, but cannot be saved for the next boot: %v", err)
		}
	}
}

func isFile(h *resource.Host, path string) bool {
	info, err := os.Stat(h.Path(path))
	return err == nil && info.Mode().IsRegular()
}

// save writes the file that Arch and SUSE read at boot.
func save(ctx context.Context, h *resource.Host, f family) error {
	release, _, err := textfile.Read(ctx, h.Path("/etc/os-release"))
	if err != nil {
		return err
	}
	file := ""
	for line := range strings.Lines(release) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch {
		case key != "ID" && key != "ID_LIKE":
		case value == "arch" || strings.Contains(value, "archlinux"):
			file = "/etc/iptables/" + f.program(".rules").Name
		case strings.Contains(value, "suse"):
			file = "/etc/sysconfig/" + f.program("").Name
		}
	}
	if file == "" {
		return fmt.Errorf("the machine has neither netfilter-persistent nor iptables-services")
	}
	text, err := f.program("-save").Query(ctx, h)
	if err != nil {
		return err
	}
	return textfile.Write(h.Path(file), text, 0o600)
}
