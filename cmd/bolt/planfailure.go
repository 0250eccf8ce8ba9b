package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/environment"
	"bolt/format/ordered"
	"bolt/format/safejson"
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
		if f.Place() == "" && f.Branches == nil {
			told = true
			f.Before = nil // where a step of a YAML plan is: what is printed says nothing of it either
		}
	}
	for line := range strings.Lines(v.app.redacted(f.Trace(told))) {
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
	fmt.Fprintf(v.app.console, "hint: %s\n", safetext.TerminalString(v.app.redacted(hint)))
}

// failureData is a failure as data, without the secrets of plugins but where
// commands and tasks have printed them.
func (a *app) failureData(f *executor.Failure) *ordered.Map {
	m := f.Map()
	if a.plug == nil || !a.plug.Secrets() {
		return m
	}
	return a.redactedData(m).(*ordered.Map)
}

// redactedData is data of a plan without the secrets of plugins. Of results it
// changes the object alone.
func (a *app) redactedData(v any) any {
	switch v := v.(type) {
	case string:
		return a.redacted(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = a.redactedData(e)
		}
		return list
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(a.redacted(k), a.redactedData(e))
		}
		return m
	case safejson.Lazy:
		return redactedResult{a, v}
	}
	return v
}

// redactedResult is a result, which is made when it is written, without the secrets
// of plugins in its object.
type redactedResult struct {
	app    *app
	result safejson.Lazy
}

// Data implements safejson.Lazy.
func (r redactedResult) Data() (any, error) {
	data, err := r.result.Data()
	m, ok := data.(*ordered.Map)
	if object, is := m.Value("object").(string); err == nil && ok && is {
		m.Set("object", r.app.redacted(object))
	}
	return data, err
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
