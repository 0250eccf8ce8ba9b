// Package tool runs the programs by which types read and change the host.
//
// A program gets the C locale. Its output is bounded, and is part of an error only in a form that is safe to print.
package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"bolt/apply/resource"
)

// A Tool is a program of the host.
type Tool struct {
	Name string // or its absolute path
	// Also are other programs that do the same; the first program found in the PATH is used.
	Also []string
	// Hint is an instruction to get the program, such as: Install the package iptables on the target.
	Hint string
	// Limit ends a program that hangs, with all processes of its group.
	Limit time.Duration
	// Vars are more variables of the environment, "NAME=value".
	Vars []string
}

// Query runs the program for its standard output. An exit code other than 0 is an error.
func (t *Tool) Query(ctx context.Context, h *resource.Host, args ...string) (string, error) {
	out, err := t.Run(ctx, h, &resource.Command{Argv: args})
	if err != nil {
		return "", err
	}
	return string(out.Stdout), out.Failure(t.Name)
}

// Change runs the program for its effects. It is not interrupted when a run is cancelled.
func (t *Tool) Change(ctx context.Context, h *resource.Host, args ...string) error {
	return t.Feed(ctx, h, "", args...)
}

// Feed is Change with a standard input.
func (t *Tool) Feed(ctx context.Context, h *resource.Host, stdin string, args ...string) error {
	out, err := t.Run(ctx, h, &resource.Command{Argv: args, Stdin: []byte(stdin), Session: true})
	if err != nil {
		return err
	}
	return out.Failure(t.Name)
}

// Run runs the program with the arguments in c.Argv. The exit code can be any.
func (t *Tool) Run(ctx context.Context, h *resource.Host, c *resource.Command) (*resource.Output, error) {
	path := t.Name
	if !filepath.IsAbs(path) {
		path = h.Find(append([]string{t.Name}, t.Also...)...)
	}
	if path == "" {
		return nil, fmt.Errorf("the program %s is missing. %s", t.Name, t.Hint)
	}
	c.Argv = append([]string{path}, c.Argv...)
	c.Env, c.Timeout = h.Environ(t.Vars...), t.Limit
	out, err := h.Run(ctx, c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	case out.Cut:
		return nil, fmt.Errorf("%s printed more than %d MiB", t.Name, resource.OutputLimit>>20)
	}
	return out, nil
}

// ReadAll reads the states of items with one query: read returns all states, and take gives an item its own state.
func ReadAll[I resource.Item, S any](items []resource.Item, read func() (S, error), take func(I, S) error) []error {
	errs := make([]error, len(items))
	states, err := read()
	for i, item := range items {
		if errs[i] = err; err == nil {
			errs[i] = take(item.(I), states)
		}
	}
	return errs
}
