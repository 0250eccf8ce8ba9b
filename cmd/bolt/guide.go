package main

import (
	"context"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/guide"
	"bolt/internal/spelling"
	"bolt/output"
)

// guideCommands explain things.
func guideCommands() []command {
	return []command{{
		run: with(runGuide), voice: noFiles,
		Command: cli.Command{
			Name: "guide", Args: "[TOPIC]", Check: cli.OneArgument, Complete: []cli.Completer{guideTopics},
			Short:   "Explain a topic",
			Long:    `Prints a short text about a topic, or without one the list of topics.`,
			Example: "  bolt guide\n  bolt guide inventory",
			Exit:    exitShown, Formats: listFormats,
		},
	}}
}

func guideTopics(context.Context, cli.Query) cli.Completions { return cli.Texts(guide.Topics()...) }

func runGuide(_ context.Context, a *app, o *nameOption) error {
	name := o.name
	if name == "" {
		return written(output.PrintTopics(a.sys.out, a.listOptions(), guide.Topics()))
	}
	topic, ok := guide.Find(name)
	if !ok {
		near := ""
		if n := spelling.Near(name, guide.Topics()); n != "" {
			near = " Did you mean '" + n + "'?"
		}
		return fault.New("bolt/unknown-topic", "There is no guide about '%s'.%s 'bolt guide' lists the topics.", name, near)
	}
	return written(output.PrintGuide(a.sys.out, a.listOptions(), topic.Name, topic.Text, topic.Docs))
}
