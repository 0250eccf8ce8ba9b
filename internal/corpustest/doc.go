// Package corpustest judges the program by the recorded behaviour of Puppet
// Bolt in testdata/bolt: its test builds bolt, runs every case of cases.jsonl
// through run.py, and reports each as a subtest.
//
// Two lists beside the cases say which of them are expected to fail, with a
// reason each: later.txt (they need a command that this program does not have
// yet) and differs.txt (this program behaves differently on purpose; see
// docs/differences.md). A case that fails and is on neither list fails the
// test, and so does a case on a list that passes: the lists stay honest.
//
// A second test judges bolt apply in the same way by testdata/apply, which records
// the real puppet apply in disposable roots. All its cases must pass.
//
// The cases make users, sudo rules and mounts, so the tests need root.
package corpustest
