package value

// RubyText returns a value as Ruby's to_s writes it, which is how functions
// that came to the language from Ruby make text of values: undef is empty,
// arrays and hashes are written as in Ruby. Fits is asked as the text grows, and
// its error ends it; nil allows 64 MiB. Other errors are a *[ConversionError].
func RubyText(v Value, fits func(bytes int) error) (string, error) {
	s, err := rubyString(v, fits)
	if err != nil {
		return "", err
	}
	return s, nil
}

// RubyShown is [RubyText] for people to read: what would be too long is cut.
func RubyShown(v Value) string {
	s, err := rubyString(v, nil)
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
