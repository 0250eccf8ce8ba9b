package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/environment"
	"bolt/environment/unknown"
	"bolt/internal/safetext"
	"bolt/plans/executor"
	"bolt/puppet/eval"
)

// explain tells people, on standard error, what standard output does not have
// room for: programs compare that with Puppet Bolt's. told: it has the message and
// the place.
func (p *ranPlan) explain(ctx context.Context, f *executor.Failure, told bool) {
	if p.app.format().IsJSON() {
		// Message and place are no news, but what follows needs them in front.
		told = f.Trace(true) == ""
		if f.Place() == "" && f.Branches == nil {
			told = true
			f.Before = nil // where a step of a YAML plan is: what is printed says nothing of it either
		}
	}
	for line := range strings.Lines(p.app.redacted(f.Trace(told))) {
		fmt.Fprintln(p.app.Console, safetext.TerminalString(strings.TrimSuffix(line, "\n")))
	}
	hint := f.Hint
	if hint == "" {
		hint = p.unknown(ctx, f)
	}
	if hint == "" {
		p.app.hint(f)
		return
	}
	fmt.Fprintf(p.app.Console, "hint: %s\n", safetext.TerminalString(p.app.redacted(hint)))
}

// unknown says what an unknown name of a plan was probably meant to be; "" if
// nothing is near, or nothing is unknown.
func (p *ranPlan) unknown(ctx context.Context, f *executor.Failure) string {
	e, ok := errors.AsType[*eval.Error](f)
	if !ok || e.Name == "" {
		return ""
	}
	var advice string
	language := &p.language.PlanLanguage
	switch e.Kind {
	case "unknown-function":
		advice = p.app.names().Advise(ctx, e.Name, "functions", func() []string {
			names := environment.Functions()
			for _, f := range language.Functions {
				names = append(names, f.Name)
			}
			return names
		})
	case "unknown-type":
		advice = p.app.names().Advise(ctx, e.Name, "types", unknown.PlanTypes)
	}
	return strings.TrimLeft(advice, ":; ")
}
