// Package option describes, as plain data, how transports are configured: the
// options that an inventory may set, and what becomes of them in a
// transport.Dest.
//
// Each transport's package exports its own Transport. Package transport/all lists
// them; package inventory merges, checks and converts by what it is given of that
// list, and knows none of them by name.
package option

import (
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
)

// A Transport is how one transport is configured. It is data, and not changed.
type Transport struct {
	// Name is the name in inventories: the key under config, the scheme of URIs. It is
	// the Protocol of destinations.
	Name string

	// VariantOf, if set, makes this transport a variant of that one: it takes its place
	// if the flag named Flag is true in its configuration. A variant has no
	// configuration, name or Defaults of its own in inventories.
	VariantOf, Flag string

	// Options are in the order in which they are shown, after Defaults.
	Options []Option
	// Defaults are the values of the options that always have one. An option that has a
	// default is shown among the Defaults.
	Defaults *ordered.Map
	Open     bool // options that are not listed are accepted, too

	NeedsHost  bool // a target without a host cannot be used
	Here       bool // its targets are this machine, whatever their names are
	PowerShell bool // commands on its targets are PowerShell's

	// Check checks, and may change, the configuration of a target. Types, the expansion
	// of paths and the interpreters are done. nil: there is nothing more to check.
	Check func(*Config) error
	// Dest completes a destination. Protocol, Host, Port, User, Password and
	// ConnectTimeout are set. A variant's follows that of its base. nil: there is nothing
	// more to set.
	Dest func(config Values, to *transport.Dest)
}

// An Option is one option of a transport.
type Option struct {
	Name   string
	Schema *schema.Schema
	// Path marks a text as a path: it is made absolute, from the project's directory.
	Path bool
	// Secret marks a text as one that is never shown. If the option may be a hash, it
	// marks the members that the Schema lists, and no text.
	Secret bool
}

// A Config is the configuration of a target as a Transport's Check gets it.
type Config struct {
	Values                                        // with the defaults
	Given  Values                                 // all that is configured, without the defaults
	Warn   func(id, text string)                  // the same text is shown once
	Fail   func(format string, args ...any) error // makes the error for a bad value
}

// Sorted returns options in the order of their names.
func Sorted(options ...Option) []Option {
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	return options
}

// Text is an option for any text.
func Text(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.String, Plugins: schema.PluginsAllowed}}
}

// Path is a text that is the path of a local file.
func Path(name string) Option {
	o := Text(name)
	o.Path = true
	return o
}

// Secret is a text that is never shown.
func Secret(name string) Option {
	o := Text(name)
	o.Secret = true
	return o
}

// Enum is an option for one of some texts.
func Enum(name string, values ...string) Option {
	o := Text(name)
	o.Schema.Enum = values
	return o
}

// Flag is an option for true or false.
func Flag(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Boolean, Plugins: schema.PluginsAllowed}}
}

// Seconds is an option for a time in seconds.
func Seconds(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Integer, Min: schema.Limit(1), Plugins: schema.PluginsAllowed}}
}

// Port is an option for the number of a port.
func Port(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Integer, Min: schema.Limit(0), Max: schema.Limit(65535), Plugins: schema.PluginsAllowed}}
}

// Set is an option for a list of different texts.
func Set(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Array, Unique: true, Items: &schema.Schema{Type: schema.String}, Plugins: schema.PluginsAllowed}}
}

// List is an option for a list of texts.
func List(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String}, Plugins: schema.PluginsAllowed}}
}

// Command is an option for a command: a list of words, or a text that is split at
// spaces.
func Command(name string) Option {
	o := List(name)
	o.Schema.Type |= schema.String
	return o
}
