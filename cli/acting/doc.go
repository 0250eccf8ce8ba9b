// Package acting reads the options that commands which act on targets share: the
// targets, the batches, the limits of downloads, and the printing of results.
//
// Each group of options is a struct. Its Bind reads the flags, and its other methods
// return the values for the packages choose, run and transport. Errors about the options
// are *cli.UsageError.
package acting
