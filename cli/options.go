package cli

// A Binder copies the given flags and arguments to the fields of a command's
// options. A field whose flag was not given keeps its value, the default.
type Binder struct {
	given Values
	args  []string
	names []string
	err   error
}

// NewBinder returns a Binder for a command line.
func NewBinder(given Values, args []string) *Binder { return &Binder{given: given, args: args} }

// Names returns the flags that were bound, to check them against the flags that the
// command lists.
func (b *Binder) Names() []string { return b.names }

// Text binds a flag with one value.
func (b *Binder) Text(name string, into *string) {
	if b.has(name) {
		*into = b.given.Last(name)
	}
}

// Texts binds a flag that may be given several times.
func (b *Binder) Texts(name string, into *[]string) {
	if b.has(name) {
		*into = b.given[name]
	}
}

// Switch binds a flag without a value.
func (b *Binder) Switch(name string, into *bool) {
	if b.has(name) {
		*into = b.given.On(name, false)
	}
}

// NoOptions are the options of a command that has none.
type NoOptions struct{}

// Bind binds nothing.
func (*NoOptions) Bind(*Binder) {}

// NameOption is the one argument of a command.
type NameOption struct{ Name string }

// Bind reads the argument.
func (o *NameOption) Bind(b *Binder) { b.Arg(&o.Name) }

// An Optional is the value of a flag whose absence and whose empty value differ.
type Optional struct {
	Text  string
	Given bool
}

// Optional binds a flag with one value.
func (b *Binder) Optional(name string, into *Optional) {
	if b.has(name) {
		*into = Optional{b.given.Last(name), true}
	}
}

// Fail records an error in the bound values. Only the first error is reported.
func (b *Binder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Err returns the first error.
func (b *Binder) Err() error { return b.err }

// Arg binds the first argument.
func (b *Binder) Arg(into *string) {
	if len(b.args) > 0 {
		*into = b.args[0]
	}
}

// Second binds the second argument.
func (b *Binder) Second(into *string) {
	if len(b.args) > 1 {
		*into = b.args[1]
	}
}

// Rest binds the arguments after the first n.
func (b *Binder) Rest(n int, into *[]string) {
	if len(b.args) > n {
		*into = b.args[n:]
	}
}

func (b *Binder) has(name string) bool {
	b.names = append(b.names, name)
	return b.given.Has(name)
}
