package acting

import "bolt/cli"

// Options are the options of commands that act on targets. Not all of these commands have
// Rolling and OutputDir.
type Options struct {
	Targets     Targets
	Rolling     Rolling
	Results     Results
	Concurrency string
	OutputDir   cli.Optional
}

// Bind reads the flags that most such commands have.
func (o *Options) Bind(b *cli.Binder) {
	o.BindApply(b)
	o.Results.Bind(b)
}

// BindApply reads the flags that all such commands have. Results of applies are folded anyway.
func (o *Options) BindApply(b *cli.Binder) {
	o.Targets.Bind(b)
	o.Results.bindShown(b)
	b.Text("concurrency", &o.Concurrency)
}

// BindPrints reads the flags of commands that print output.
func (o *Options) BindPrints(b *cli.Binder) {
	o.Bind(b)
	o.Rolling.Bind(b)
	b.Optional("output-dir", &o.OutputDir)
}

// Check rejects options that contradict each other.
func (o *Options) Check() error {
	if o.OutputDir.Given && o.OutputDir.Text == "" {
		return cli.Errorf("Option '--output-dir' must name a directory")
	}
	if err := o.Results.Check(); err != nil {
		return err
	}
	_, err := o.Rolling.Parse()
	return err
}

// Concurrent returns the number of targets on which an action runs at the same time. It is
// setting unless --concurrency is a percentage.
func (o *Options) Concurrent(setting, targets int) int {
	if share, ok := Percentage(o.Concurrency); ok {
		return share.Of(targets, 1)
	}
	return setting
}

// Results are the options for printing results.
type Results struct{ Verbose, Fold, Diff, Stream bool }

// Bind reads the flags. Verbose is the default.
func (o *Results) Bind(b *cli.Binder) {
	o.bindShown(b)
	b.Switch("fold", &o.Fold)
	b.Switch("diff", &o.Diff)
}

func (o *Results) bindShown(b *cli.Binder) {
	o.Verbose = true
	b.Switch("verbose", &o.Verbose)
	b.Switch("stream", &o.Stream)
}

// Folds returns the flag that makes bolt print equal results once; "" if it is not given.
func (o *Results) Folds() string {
	switch {
	case o.Diff:
		return "--diff"
	case o.Fold:
		return "--fold"
	}
	return ""
}

// Check rejects options that contradict each other.
func (o *Results) Check() error {
	if fold := o.Folds(); fold != "" && o.Stream {
		return cli.Errorf("Options '%s' and '--stream' contradict each other: %[1]s prints when all targets have ended, --stream at once", fold)
	}
	return nil
}
