// Package eval runs programs of the Puppet language.
//
// A [Library] holds the definitions that programs can use: functions written in
// Go, and definitions that a [Loader] finds in modules. An [Interp] is one
// evaluation with its own top scope. New makes an Interp in less than a
// microsecond, so that each run, each node and each test can have its own. Many
// Interps share one Library and everything that it has loaded, and do not lock
// for that.
//
//	lib := eval.NewLibrary(loader, functions...)
//	in := eval.New(eval.Env{Library: lib})
//	v, err := in.Run(ctx, program, nil)
//
// The language has effects only through the fields of an [Env]: a log, a
// [Builder] for resources, and functions. Without a Builder, resources are an
// error, as in plans. The package itself does not read files, the clock or the
// environment.
//
// # How it works
//
// A body (of a program, a function, a lambda, a class) is compiled on its first
// use. The result is a tree of nodes that evaluate themselves: names of local
// variables become slots, constant expressions become values, and operators are
// selected. The syntax tree is only read. The compiled body is stored in its
// [Definition], and all threads share it. A call site caches its function in an
// atomic pointer. However, the code of a Library does not cache definitions of
// an Interp.
//
// # Errors
//
// Every error of a program is an [*Error] with a kind, a position and a stack
// of the calls of the language. Run and Call convert a panic to an Error of the
// kind "internal". [Limits] end programs that would not end by themselves. The
// calls and the expressions around them are limited together, so that a program
// cannot overflow the stack.
package eval
