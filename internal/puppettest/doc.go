// Package puppettest compares Puppet's recorded results for small programs,
// the corpus in testdata/puppet, with the results of the language packages
// together.
package puppettest
