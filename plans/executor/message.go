package executor

import (
	"math/big"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// message formats a value for output: a string unchanged, an array or a hash as JSON
// on several lines.
//
// Source: Puppet Bolt, lib/bolt/util/format.rb.
func message(v value.Value) string {
	switch d := messageData(v).(type) {
	case nil:
		return ""
	case string:
		return d
	case int64, *big.Int, float64:
		return value.ToString(v)
	default:
		return jsonText(d)
	}
}

// logged formats a value as a log line. A value other than a string, an array or a
// hash is preceded by its class.
//
// Source: the gem logging, lib/logging/layout.rb.
func logged(v value.Value) string {
	switch d := messageData(v).(type) {
	case nil:
		return "<NilClass> nil"
	case int64, *big.Int:
		return "<Integer> " + value.ToString(v)
	case float64:
		return "<Float> " + value.ToString(v)
	case string:
		return d
	default:
		return jsonText(d)
	}
}

// messageData converts a value to the data of a message: numbers, undef and results
// unchanged, other values as strings.
func messageData(v value.Value) any {
	switch v := v.(type) {
	case nil, value.Undef:
		return nil
	case value.Int:
		return int64(v)
	case *value.BigInt:
		return v.Big()
	case value.Float:
		return float64(v)
	case *value.Regexp:
		return rubyRegexp(v.Source())
	case *value.Array:
		list := make([]any, v.Len())
		for i, e := range v.All() {
			list[i] = messageData(e)
		}
		return list
	case *value.Hash:
		m := &ordered.Map{}
		for k, e := range v.All() {
			key := messageKey(k)
			if _, twice := m.Get(key); twice {
				key = value.Inspect(k)
			}
			m.Set(key, messageData(e))
		}
		return m
	case *value.Object:
		switch p := v.Payload().(type) {
		case *event.Result, *resultSet:
			if d, err := ToWrite(v); err == nil {
				return d
			}
		case *inventory.Target:
			return p.SafeName()
		case *event.ContainerResult:
			return textOf(p.Map())
		case *future:
			return p.String()
		}
	}
	return value.ToString(v)
}

// shownResult formats a value that a plan or a block may not return, for the error.
func shownResult(v value.Value) string {
	if s, ok := messageData(v).(string); ok {
		return s
	}
	return value.ToString(v)
}

// messageKey formats the key of a hash in a message.
func messageKey(k value.Value) string {
	switch d := messageData(k).(type) {
	case string:
		return d
	case nil, int64, *big.Int, float64:
		return value.ToString(k)
	default:
		return value.Inspect(k)
	}
}

// rubyRegexp formats a regular expression as Ruby prints it.
func rubyRegexp(source string) string {
	var b strings.Builder
	b.WriteString("(?-mix:")
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source):
			b.WriteByte(c)
			i++
			b.WriteByte(source[i])
		case c == '/':
			b.WriteString(`\/`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(')')
	return b.String()
}

// saying returns the functions that print a message or write to the log.
func saying() []*eval.Function {
	say := func(name, doc string, verbose bool) *eval.Function {
		return one(name, doc, "Any $message", func(c *eval.Call) (value.Value, error) {
			if err := of(&c.Site).ending(); err != nil {
				return nil, err
			}
			m := event.Message{Text: message(c.Args[0]), Logged: logged(c.Args[0]), Verbose: verbose}
			_ = of(&c.Site).emit(c.Context(), m) // an error stops the run
			return value.Undef{}, nil
		})
	}
	list := []*eval.Function{
		say("out::message", "Prints a message.", false),
		say("out::verbose", "Prints a message if --verbose is set.", true),
	}
	// The functions of the language with these names are one level less important.
	for level, to := range map[string]eval.Level{"trace": eval.Debug, "debug": eval.Info, "info": eval.Notice, "warn": eval.Warning, "error": eval.Err, "fatal": eval.Crit} {
		list = append(list, one("log::"+level, "Writes to the log at the level "+level+".", "Any $message", func(c *eval.Call) (value.Value, error) {
			if err := of(&c.Site).ending(); err != nil {
				return nil, err
			}
			c.Log(to, logged(c.Args[0]))
			return value.Undef{}, nil
		}))
	}
	return list
}
