// Package maketest tests what the Makefile offers to people: the demo, also
// twice at the same time, and a staged installation. It has no code of its own.
package maketest
