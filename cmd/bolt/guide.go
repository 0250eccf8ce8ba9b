package main

import (
	"context"

	"bolt/format/fault"
	"bolt/internal/guide"
	"bolt/internal/spelling"
	"bolt/output"
)

// guideCommand is the name of the command that takes topics.
const guideCommand = "guide"

// guideCommands explain things.
func guideCommands() []command {
	return []command{{
		name: guideCommand, args: "[TOPIC]", run: runGuide, words: oneWord, voice: noFiles,
		short:   "Explain a topic",
		long:    `Prints a short text about a topic, or without one the list of topics.`,
		example: "  bolt guide\n  bolt guide inventory",
		exit:    exitShown, formats: listFormats,
	}}
}

func runGuide(_ context.Context, a *app, args []string) error {
	name := first(args)
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
