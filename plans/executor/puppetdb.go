package executor

import (
	"context"
	"fmt"

	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/internal/valuedata"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A PuppetDB answers what plans ask of PuppetDB. An instance is the name of a
// configured one; "" is the default one. Data are those of package ordered.
type PuppetDB interface {
	// Query returns the rows of a query, which is a string or a []any.
	Query(ctx context.Context, query any, instance string) ([]any, error)
	// Facts returns the facts of the nodes that are known, by their certnames.
	Facts(ctx context.Context, certnames []string, instance string) (*ordered.Map, error)
	// Command submits a command, and returns its UUID.
	Command(ctx context.Context, command string, version int64, payload *ordered.Map, instance string) (uuid string, err error)
}

// asking are the functions that ask PuppetDB.
func asking() []*eval.Function {
	const instance = ", Optional[String] $instance = undef"
	return []*eval.Function{
		one("puppetdb_query", "Returns the rows of a query to PuppetDB, in PQL or as a syntax tree.", "Variant[String, Array[Data]] $query"+instance, func(c *eval.Call) (value.Value, error) {
			query := plain(c.Args[0])
			rows, err := askPuppetDB(c, 1, func(db PuppetDB, instance string) ([]any, error) {
				return db.Query(c.Context(), query, instance)
			})
			if err != nil {
				return nil, err
			}
			return answered(rows)
		}),
		one("puppetdb_fact", "Returns the facts that PuppetDB has of nodes, by their certnames.", "Array[String] $certnames"+instance, func(c *eval.Call) (value.Value, error) {
			names := texts(c.Args[0])
			facts, err := askPuppetDB(c, 1, func(db PuppetDB, instance string) (*ordered.Map, error) {
				return db.Facts(c.Context(), names, instance)
			})
			if err != nil {
				return nil, err
			}
			return answered(facts)
		}),
		one("puppetdb_command", "Submits a command to PuppetDB, and returns its UUID.", "String[1] $command, Integer $version, Hash[Data, Data] $payload"+instance, func(c *eval.Call) (value.Value, error) {
			command, version, payload := string(c.Args[0].(value.String)), int64(c.Args[1].(value.Int)), plain(c.Args[2]).(*ordered.Map)
			uuid, err := askPuppetDB(c, 3, func(db PuppetDB, instance string) (string, error) {
				return db.Command(c.Context(), command, version, payload, instance)
			})
			if err != nil {
				return nil, err
			}
			return value.String(uuid), nil
		}),
	}
}

// askPuppetDB asks without the turn, and returns plain data. at is the place of
// the instance among the arguments.
func askPuppetDB[T any](c *eval.Call, at int, ask func(db PuppetDB, instance string) (T, error)) (answer T, err error) {
	x := of(&c.Site)
	if x.o.PuppetDB == nil {
		return answer, &fault.Error{Kind: "bolt/puppetdb-error", Msg: "There is no PuppetDB to ask: server_urls must be specified",
			Hint: "say under puppetdb in bolt-project.yaml how PuppetDB is reached"}
	}
	instance, _ := c.Arg(at).(value.String)
	x.apart(func() { answer, err = ask(x.o.PuppetDB, string(instance)) })
	return answer, err
}

// answered is what PuppetDB answered as a value.
func answered(data any) (value.Value, error) {
	v, err := valuedata.Of(data)
	if err != nil {
		return nil, &fault.Error{Kind: "bolt/puppetdb-error", Msg: fmt.Sprintf("PuppetDB answered with data that the language does not have: %v", err), Err: err}
	}
	return v, nil
}

// texts are the strings of an array.
func texts(v value.Value) []string {
	list := v.(*value.Array)
	all := make([]string, 0, list.Len())
	for _, e := range list.All() {
		all = append(all, string(e.(value.String)))
	}
	return all
}
