package value

// RubyString returns a value as Ruby's to_s writes it, which is how functions
// that came to the language from Ruby make text of values: undef is empty,
// arrays and hashes are written as in Ruby. What would be too long is cut.
func RubyString(v Value) string {
	s, err := rubyString(v)
	if err != nil {
		return s[:min(len(s), maxCut)]
	}
	return s
}

// maxCut is what is left of a text that is too long.
const maxCut = 1 << 10

// ElementType returns the type of what a value yields when it is iterated
// over, Any where that is not known.
func ElementType(v Value) Type {
	if t := iterableElem(InferDetailed(v), nil); t != nil {
		return t
	}
	return AnyType{}
}
