package eval_test

import (
	"context"
	"fmt"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func Example() {
	lib := eval.NewLibrary(nil, builtin.Functions(builtin.Options{})...)
	in := eval.New(eval.Env{Library: lib})
	p, err := syntax.Parse(syntax.NewFile("sum.pp", "[1, 2, 3].map |$x| { $x * 2 }"), syntax.Options{})
	if err != nil {
		panic(err)
	}
	v, err := in.Run(context.Background(), p, nil)
	fmt.Println(value.ToString(v), err)
	// Output: [2, 4, 6] <nil>
}
