// Package catalogs carries out the commands that compile, show, compare and search catalogs, and
// reads their options. Each command has a struct of options and a method of Invocation.
//
// Usage errors are *cli.UsageError. If the user stops bolt, the error is run.ErrStopped.
package catalogs

import (
	"context"
	"io"
	"time"

	"bolt/catalog/seal"
	"bolt/cli/acting"
	"bolt/cli/input"
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/output"
	"bolt/puppetdb"
	"bolt/puppetdb/server"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Screen
	Logs    *logging.Log
	Input   *input.Input
	Code    Code
	Timeout time.Duration // for each node; 0 is no limit
	Environ []string      // of programs that are run
	// Targets returns the targets that options name.
	Targets func(context.Context, *acting.Targets) ([]*inventory.Target, error)
	// CachedFacts returns the stored facts of a target; nil if no facts were collected.
	CachedFacts func(ctx context.Context, name string, names []string) (*ordered.Map, error)
	PuppetDB    func() *puppetdb.Instances
	Vault       seal.Vault
	// Server holds the settings of the Puppet Server. Resolve replaces the references to plugins in
	// them.
	Server  server.Settings
	Resolve func(ctx context.Context, v any) (any, error)
}

// A Screen has the writers and the format for results and messages.
type Screen struct {
	Out, Err        io.Writer
	Console         io.Writer // for messages between those of the log
	Format          output.Format
	Color, ErrColor bool
	// Status shows a line of progress until stop is called. text is called from another goroutine.
	Status func(text func() string) (stop func())
}

// Code is the Puppet code of the project.
type Code struct {
	environment.Options
	// ModulepathGiven and HieraGiven are set if the command line sets the modulepath or the Hiera configuration.
	ModulepathGiven, HieraGiven bool
}
