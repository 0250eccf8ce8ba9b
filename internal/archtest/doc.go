// Package archtest holds the module's import policy, layers.txt, and the
// tests that keep the source to it and to the rules of style that a program
// can check. It has no code of its own.
package archtest
