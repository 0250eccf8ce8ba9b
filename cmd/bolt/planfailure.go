package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/internal/environment"
	"bolt/internal/safetext"
	"bolt/plans/executor"
	"bolt/puppet/eval"
)

// explain tells people, on standard error, what standard output does not have
// room for: programs compare that with Puppet Bolt's. told: it has the message and
// the place.
func (v *planObserver) explain(ctx context.Context, f *executor.Failure, told bool) {
	if v.app.format().IsJSON() {
		// Message and place are no news, but what follows needs them in front.
		told = f.Trace(true) == ""
	}
	for line := range strings.Lines(f.Trace(told)) {
		fmt.Fprintln(v.app.console, safetext.TerminalString(strings.TrimSuffix(line, "\n")))
	}
	hint := f.Hint
	if hint == "" {
		hint = v.unknown(ctx, f)
	}
	if hint == "" {
		v.app.hint(f)
		return
	}
	fmt.Fprintf(v.app.console, "hint: %s\n", safetext.TerminalString(hint))
}

// unknown says what an unknown name of a plan was probably meant to be; "" if
// nothing is near, or nothing is unknown.
func (v *planObserver) unknown(ctx context.Context, f *executor.Failure) string {
	e, ok := errors.AsType[*eval.Error](f)
	if !ok || e.Name == "" {
		return ""
	}
	var advice string
	language := &v.language.PlanLanguage
	switch e.Kind {
	case "unknown-function":
		advice = v.app.advise(ctx, e.Name, "functions", func() []string {
			names := environment.Functions()
			for _, f := range language.Functions {
				names = append(names, f.Name)
			}
			return names
		})
	case "unknown-type":
		advice = v.app.advise(ctx, e.Name, "types", func() []string { return slices.Concat(environment.Types(), languageTypes, planTypes) })
	}
	return strings.TrimLeft(advice, ":; ")
}
