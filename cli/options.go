package cli

// A Binder sets the fields of a command's options to what was given. A field whose
// flag was not given keeps its value, which is the default.
type Binder struct {
	given Values
	args  []string
	names []string
}

// NewBinder returns a Binder for a command line.
func NewBinder(given Values, args []string) *Binder { return &Binder{given: given, args: args} }

// Names returns the flags that were bound, to check them against the flags that the
// command lists.
func (b *Binder) Names() []string { return b.names }

// Given returns all that was given.
func (b *Binder) Given() Values { return b.given }

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

// Has binds the fact that a flag was given.
func (b *Binder) Has(name string, into *bool) { *into = b.has(name) }

// Args binds the arguments.
func (b *Binder) Args(into *[]string) { *into = b.args }

// Arg binds the first argument.
func (b *Binder) Arg(into *string) {
	if len(b.args) > 0 {
		*into = b.args[0]
	}
}

func (b *Binder) has(name string) bool {
	b.names = append(b.names, name)
	return b.given.Has(name)
}
