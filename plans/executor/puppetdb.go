package executor

import (
	"context"
	"fmt"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A PuppetDB answers the queries of plans. An instance is the name of a
// configured instance; "" is the default instance. Data is data of package
// ordered.
type PuppetDB interface {
	// Query returns the rows of a query, which is a string or a []any.
	Query(ctx context.Context, query any, instance string) ([]any, error)
	// Facts returns the facts of the known nodes by their certnames.
	Facts(ctx context.Context, certnames []string, instance string) (*ordered.Map, error)
	// Command submits a command, and returns its UUID.
	Command(ctx context.Context, command string, version int64, payload *ordered.Map, instance string) (uuid string, err error)
}

// asking returns the functions that query PuppetDB.
func asking() []*eval.Function {
	const instance = ", Optional[String] $instance = undef"
	return []*eval.Function{
		one("puppetdb_query", "Returns the rows of a query to PuppetDB, in PQL or as a syntax tree.", "Variant[String, Array[Data]] $query"+instance, func(c *eval.Call) (value.Value, error) {
			query, err := plain("the query", c.Args[0])
			if err != nil {
				return nil, err
			}
			return askPuppetDB(c, 1, query, func(db PuppetDB, instance string) (any, error) {
				return db.Query(c.Context(), query, instance)
			})
		}),
		one("puppetdb_fact", "Returns the facts of nodes in PuppetDB, by their certnames.", "Array[String] $certnames"+instance, func(c *eval.Call) (value.Value, error) {
			names := c.Args[0].(*value.Array)
			certnames := make([]string, names.Len())
			for i, n := range names.All() {
				certnames[i] = string(n.(value.String))
			}
			return askPuppetDB(c, 1, certnames, func(db PuppetDB, instance string) (any, error) {
				return db.Facts(c.Context(), certnames, instance)
			})
		}),
		one("puppetdb_command", "Submits a command to PuppetDB, and returns its UUID.", "String[1] $command, Integer $version, Hash[Data, Data] $payload"+instance, func(c *eval.Call) (value.Value, error) {
			command, version := string(c.Args[0].(value.String)), int64(value.ClampInt(c.Args[1]))
			payload, err := plainMap("the payload", c.Args[2].(*value.Hash))
			if err != nil {
				return nil, err
			}
			return askPuppetDB(c, 3, []any{command, version, payload}, func(db PuppetDB, instance string) (any, error) {
				return db.Command(c.Context(), command, version, payload, instance)
			})
		}),
	}
}

// askPuppetDB queries PuppetDB without holding the turn. at is the index of the
// instance among the arguments; what contains the other arguments. A command
// may be sent twice: it contains the time of its data, and PuppetDB keeps the
// newest data.
func askPuppetDB(c *eval.Call, at int, what any, ask func(db PuppetDB, instance string) (any, error)) (value.Value, error) {
	x := of(&c.Site)
	if x.o.PuppetDB == nil {
		return nil, &fault.Error{Kind: "bolt/puppetdb-error", Msg: "No PuppetDB is configured: server_urls must be specified",
			Hint: "Set server_urls under puppetdb in bolt-project.yaml."}
	}
	instance, _ := c.Arg(at).(value.String)
	answer, err := x.effect(c, []any{what, string(instance)}, false, func() (answer any, err error) {
		x.apart(func() { answer, err = ask(x.o.PuppetDB, string(instance)) })
		return answer, err
	})
	if err != nil {
		return nil, err
	}
	v, err := valuedata.Of(answer)
	if err != nil {
		return nil, &fault.Error{Kind: "bolt/puppetdb-error", Msg: fmt.Sprintf("PuppetDB returned data that the language cannot represent: %v", err), Err: err}
	}
	return v, nil
}
