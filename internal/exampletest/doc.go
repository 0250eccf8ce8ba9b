// Package exampletest runs the projects in examples on machines of the demo
// farm. It has no code of its own.
package exampletest
