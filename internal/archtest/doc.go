// Package archtest holds the import policy, layers.txt, of this module and of
// the module in clouds, and the tests that keep the source to it and to the rules
// of style that a program can check. It has no code of its own.
package archtest
