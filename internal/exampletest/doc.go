// Package exampletest runs the projects in examples on machines of the demo
// farm or in a disposable root. It has no code of its own.
package exampletest
