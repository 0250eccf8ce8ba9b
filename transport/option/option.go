// Package option describes the configuration of transports as plain data: the
// options that an inventory can set, and their conversion to a transport.Dest.
//
// Each transport's package exports its own Transport. Package transport/all
// lists them. Package inventory gets that list as a parameter, and merges,
// checks and converts options by it.
package option

import (
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
)

// A Transport describes the configuration of one transport. It is read-only
// data.
type Transport struct {
	// Name is the name in inventories: the key under config, the scheme of URIs. It is
	// the Protocol of destinations.
	Name string

	// VariantOf, if set, names another transport. This transport replaces it if the
	// option Flag is true in the other transport's configuration. A variant has no
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
	PowerShell bool // commands on its targets are PowerShell code

	// Check checks the configuration of a target, and can change it. Types and
	// interpreters are already checked, and paths are expanded. It can be nil.
	Check func(*Config) error
	// Dest completes a destination in which Protocol, Host, Port, User, Password
	// and ConnectTimeout are set. The Dest of a variant is called after the Dest of
	// its base. It can be nil.
	Dest func(config Values, to *transport.Dest)
}

// An Option is one option of a transport.
type Option struct {
	Name   string
	Schema *schema.Schema
	// Path marks a text as a path: it is made absolute, from the project's directory.
	Path bool
	// Secret marks a text that is never shown. If the option can be a hash, Secret
	// marks the members that the Schema lists instead.
	Secret bool
}

// A Config is the argument of a Transport's Check: the configuration of a
// target.
type Config struct {
	Values                                        // with the defaults
	Given  Values                                 // all configured values, without the defaults
	Warn   func(id, text string)                  // the same text is shown once
	Fail   func(format string, args ...any) error // returns the error for an invalid value
}

// Sorted returns options in the order of their names.
func Sorted(options ...Option) []Option {
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	return options
}

// Text returns an option for any text.
func Text(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.String, Plugins: schema.PluginsAllowed}}
}

// Path returns an option for the path of a local file.
func Path(name string) Option {
	o := Text(name)
	o.Path = true
	return o
}

// Secret returns an option for a text that is never shown.
func Secret(name string) Option {
	o := Text(name)
	o.Secret = true
	return o
}

// Enum returns an option for one of the given texts.
func Enum(name string, values ...string) Option {
	o := Text(name)
	o.Schema.Enum = values
	return o
}

// Flag returns an option for true or false.
func Flag(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Boolean, Plugins: schema.PluginsAllowed}}
}

// Seconds returns an option for a time in seconds.
func Seconds(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Integer, Min: schema.Limit(1), Plugins: schema.PluginsAllowed}}
}

// Port returns an option for a port number.
func Port(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Integer, Min: schema.Limit(0), Max: schema.Limit(65535), Plugins: schema.PluginsAllowed}}
}

// Set returns an option for a list of different texts.
func Set(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Array, Unique: true, Items: &schema.Schema{Type: schema.String}, Plugins: schema.PluginsAllowed}}
}

// List returns an option for a list of texts.
func List(name string) Option {
	return Option{Name: name, Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String}, Plugins: schema.PluginsAllowed}}
}

// Command returns an option for a command: a list of words, or a text that is
// split at spaces.
func Command(name string) Option {
	o := List(name)
	o.Schema.Type |= schema.String
	return o
}
