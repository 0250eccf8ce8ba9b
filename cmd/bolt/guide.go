package main

import (
	"context"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/guide"
	"bolt/internal/spelling"
	"bolt/output/listing"
)

func guideTopics(context.Context, cli.Query) cli.Completions { return cli.Texts(guide.Topics()...) }

func runGuide(_ context.Context, a *app, o *cli.NameOption) error {
	name := o.Name
	if name == "" {
		return written(listing.PrintTopics(a.sys.out, a.listOptions(), guide.Topics()))
	}
	topic, ok := guide.Find(name)
	if !ok {
		near := ""
		if n := spelling.Near(name, guide.Topics()); n != "" {
			near = " Did you mean '" + n + "'?"
		}
		return fault.New("bolt/unknown-topic", "Unknown topic '%s'.%s 'bolt guide' lists the topics.", name, near)
	}
	return written(listing.PrintGuide(a.sys.out, a.listOptions(), topic.Name, topic.Text, topic.Docs))
}
