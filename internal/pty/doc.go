// Package pty makes pseudo-terminals.
package pty
