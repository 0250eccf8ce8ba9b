// Package puppettest runs what Puppet said about small programs, the corpus in
// testdata/puppet, through the packages of the language together.
package puppettest
