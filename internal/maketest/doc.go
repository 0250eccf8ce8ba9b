// Package maketest tests the Makefile: the demo, also twice at the same time,
// and a staged installation. It has no code of its own.
package maketest
