// Package corpustest judges the program by the recorded behaviour of Puppet Bolt
// in testdata/bolt. Its test builds bolt, runs every case of cases.jsonl through
// run.py, and reports each as a subtest.
//
// Two lists beside the cases name the cases that are expected to fail, each with a
// reason. The cases in later.txt need a command that this program does not have
// yet. In the cases in differs.txt this program behaves differently on purpose;
// see docs/differences.md. If a case fails and is on neither list, the test fails.
// If a case on a list passes, the test fails, too, so that the lists stay correct.
//
// A second test judges bolt apply in the same way by testdata/apply, which records
// the real puppet apply in disposable roots. All its cases must pass.
//
// The cases make users, sudo rules and mounts, so the tests need root.
package corpustest
