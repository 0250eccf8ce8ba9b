package value

// describeActual names what a value is, for messages.
func describeActual(v Value) string { return TypeString(Generalize(Infer(v))) }
