package eval

// unheard is the error of a name that stands for nothing.
func (t *thread) unheard(at pos, kind Kind, name string) *Error {
	e := t.fail(at, "unknown-"+kind.String(), "unknown %v %s", kind, name)
	e.Name = name
	return e
}
