package firewalld

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

const limit = 5 * time.Minute

// A control is the program that changes the permanent configuration: firewall-cmd if firewalld runs, or else
// firewall-offline-cmd.
type control struct{ online bool }

func program(name string) *tool.Tool {
	return &tool.Tool{Name: name, Hint: "Install the package firewalld on the target", Limit: limit}
}

// newControl finds out whether firewalld runs.
func newControl(ctx context.Context, h *resource.Host) (*control, error) {
	out, err := program("firewall-cmd").Run(ctx, h, &resource.Command{Argv: []string{"--state"}})
	if err != nil {
		return nil, err
	}
	return &control{out.Code == 0}, nil
}

func (c *control) tool(args []string) (*tool.Tool, []string) {
	if c.online {
		return program("firewall-cmd"), append([]string{"--permanent"}, args...)
	}
	return program("firewall-offline-cmd"), args
}

func (c *control) query(ctx context.Context, h *resource.Host, args ...string) (string, error) {
	t, args := c.tool(args)
	return t.Query(ctx, h, args...)
}

func (c *control) change(ctx context.Context, h *resource.Host, args ...string) error {
	t, args := c.tool(args)
	return t.Change(ctx, h, args...)
}

// has runs a query whose exit code is 1 for no.
func (c *control) has(ctx context.Context, h *resource.Host, args ...string) (bool, error) {
	t, args := c.tool(args)
	out, err := t.Run(ctx, h, &resource.Command{Argv: args})
	if err != nil || out.Code == 1 {
		return false, err
	}
	return true, out.Failure(t.Name)
}

// reload makes firewalld read the permanent configuration.
func (c *control) reload(ctx context.Context, h *resource.Host) error {
	if !c.online {
		return nil
	}
	return program("firewall-cmd").Change(ctx, h, "--reload")
}

// A config is the configuration of all zones, or of all policies: the values of settings by zone and name.
type config map[string]map[string][]string

// read reads the configuration of zones, or of policies.
func (c *control) read(ctx context.Context, h *resource.Host, kind string) (config, error) {
	text, err := c.query(ctx, h, "--list-all-"+map[string]string{"zone": "zones", "policy": "policies"}[kind])
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads the output of --list-all-zones. A zone begins with a line that has its name. A line of a setting begins with
// two spaces, and a line of a rich rule begins with a tab.
func parse(text string) (config, error) {
	all := make(config)
	var zone map[string][]string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		name, value, setting := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "":
		case line[0] != ' ' && line[0] != '\t':
			name, _, _ = strings.Cut(line, " ")
			zone = make(map[string][]string)
			all[name] = zone
		case zone == nil:
			return nil, errors.New("firewalld printed settings without the name of a zone")
		case strings.HasPrefix(strings.TrimSpace(line), "rule"):
			zone["rich rules"] = append(zone["rich rules"], strings.TrimSpace(line))
		case setting && strings.HasPrefix(line, "  "):
			zone[strings.TrimSpace(name)] = strings.Fields(value)
		case line[0] == '\t' || strings.HasPrefix(line, "    "): // forward ports
		default:
			return nil, fmt.Errorf("firewalld printed %q, which is not a setting", safetext.Message(line))
		}
	}
	return all, nil
}
