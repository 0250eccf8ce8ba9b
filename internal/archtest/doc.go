// Package archtest holds layers.txt, the import policy of this module and of the
// module in clouds. Its tests check the source against the policy and against the
// rules of style that a program can check. It has no code of its own.
package archtest
