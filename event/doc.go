// Package event says what happens while bolt works.
//
// A [Result] is the outcome of an action on one target, and an [Error] is a failure on
// it. The output of commands is in package event/capture.
package event
