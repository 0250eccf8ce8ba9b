package mongodb

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/format/yaml"
)

const configFile = "/etc/mongod.conf"

// A config is the part of the configuration of the server that its clients need.
type config struct {
	host, port string
	args       []string // of the shell
	auth       bool
}

// url returns the address of the server with the database admin.
func (c *config) url() string {
	host := c.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return "mongodb://" + host + ":" + c.port + "/admin"
}

// configuration reads the configuration file of the server. Without the file, the defaults of the server apply.
func configuration(ctx context.Context, h *resource.Host) (*config, error) {
	text, _, err := textfile.Read(ctx, h.Path(configFile))
	if err != nil {
		return nil, err
	}
	return parseConfig([]byte(text))
}

func parseConfig(data []byte) (*config, error) {
	var top *ordered.Map
	if len(strings.TrimSpace(string(data))) > 0 {
		v, err := yaml.DecodeData(data, configFile)
		if err != nil {
			return nil, err
		}
		if v != nil {
			m, is := v.(*ordered.Map)
			if !is {
				return nil, fmt.Errorf("%s is not a mapping", configFile)
			}
			top = m
		}
	}
	c := &config{port: setting(top, "net.port"), auth: setting(top, "security.authorization") == "enabled"}
	switch role := setting(top, "sharding.clusterRole"); {
	case c.port != "":
	case role == "configsvr":
		c.port = "27019"
	case role == "shardsvr":
		c.port = "27018"
	default:
		c.port = "27017"
	}
	if n, err := strconv.ParseUint(c.port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("%s: net.port is not a port", configFile)
	}
	var err error
	if c.host, err = host(setting(top, "net.bindIp")); err != nil {
		return nil, err
	}
	if setting(top, "net.ipv6") == "true" {
		c.args = append(c.args, "--ipv6")
	}
	if mode := setting(top, "net.tls.mode"); mode != "" && mode != "disabled" {
		c.args = append(c.args, "--tls")
		for _, o := range [][2]string{{"certificateKeyFile", "--tlsCertificateKeyFile"}, {"CAFile", "--tlsCAFile"}} {
			if file := setting(top, "net.tls."+o[0]); file != "" {
				c.args = append(c.args, o[1], file)
			}
		}
		if setting(top, "net.tls.allowInvalidHostnames") == "true" {
			c.args = append(c.args, "--tlsAllowInvalidHostnames")
		}
	}
	return c, nil
}

// setting returns the text of a setting, "" if it is not there. The name can be one key with points, or a path of keys.
func setting(m *ordered.Map, name string) string {
	if m == nil {
		return ""
	}
	if v := m.Value(name); v != nil {
		return text(v)
	}
	for at, rest := m, name; ; {
		key, more, is := strings.Cut(rest, ".")
		v := at.Value(key)
		if !is {
			return text(v)
		}
		next, isMap := v.(*ordered.Map)
		if !isMap {
			return ""
		}
		at, rest = next, more
	}
}

func text(v any) string {
	switch v := v.(type) {
	case nil, *ordered.Map, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// host returns the address for clients on the host: the first address on which the server listens.
func host(bindIP string) (string, error) {
	const local = "127.0.0.1"
	for name := range strings.SplitSeq(bindIP, ",") {
		name = strings.Trim(strings.TrimSpace(name), "[]")
		addr, err := netip.ParseAddr(name)
		switch {
		case name == "" || strings.HasPrefix(name, "/"): // a socket
			continue
		case err == nil && addr.IsUnspecified() && addr.Is4():
			return local, nil
		case err == nil && addr.IsUnspecified():
			return "::1", nil
		case err == nil && addr.Zone() != "" || err != nil && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "":
			return "", fmt.Errorf("%s: net.bindIp has an address that is not understood", configFile)
		}
		return name, nil
	}
	return local, nil
}
