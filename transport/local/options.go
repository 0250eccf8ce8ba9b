package local

import (
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
	"bolt/transport/option"
)

// Protocol is the name of the transport.
const Protocol = "local"

// Transport returns the configuration options of the transport.
func Transport() option.Transport {
	return option.Transport{
		Name: Protocol,
		Here: true,
		Options: option.Sorted(append(option.RunAs(),
			option.Option{Name: "bundled-ruby", Schema: &schema.Schema{Type: schema.Boolean, Plugins: schema.PluginsForbidden}},
			option.Cleanup(),
			option.Extensions(),
			option.Interpreters(),
			option.TmpDir(),
		)...),
		Defaults: ordered.Of("bundled-ruby", true, "cleanup", true),
		// There is only one local machine, whatever the target's name is.
		Dest: func(_ option.Values, to *transport.Dest) { *to = transport.Dest{Protocol: Protocol} },
	}
}
