// Package eval runs programs of the Puppet language.
//
// A [Library] is what programs can name: functions written in Go, and what a
// [Loader] finds in modules. An [Interp] is one evaluation with its own top
// scope: New makes one in less than a microsecond, so that each run, each
// node, each test has its own. Many Interps share one Library and everything
// that has been loaded through it, without locks on the way.
//
//	lib := eval.NewLibrary(loader, functions...)
//	in := eval.New(eval.Env{Library: lib})
//	v, err := in.Run(ctx, program, nil)
//
// The language has effects only through what an [Env] gives: a log, a
// [Builder] for resources (nil: resources are refused, as plans refuse them),
// functions. The package itself reads no file, no clock, no environment.
//
// # How it works
//
// A body (of a program, a function, a lambda, a class) is compiled once, on
// its first use, to a tree of nodes that evaluate themselves: names of local
// variables become slots, constant expressions become values, operators are
// chosen. The syntax tree is only read. Compiled bodies are kept with their
// [Definition] and are the same for all threads; a call site remembers its
// function in an atomic pointer, but code of a Library does not remember what is
// an Interp's own.
//
// # Errors
//
// Every error of a program is an [*Error] with a kind, a position and a stack
// of the calls of the language. Panics inside end at Run and Call as an Error
// of kind "internal". Limits end endless programs: see [Limits]. Calls and the
// expressions around them together are limited too, so that no program needs
// more stack than there is.
package eval
