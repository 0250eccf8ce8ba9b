package value

// RubyText returns a value as Ruby's to_s writes it. Functions of the language
// that come from Ruby convert values to text in this way: undef is empty, and
// arrays and hashes have Ruby's syntax. fits is called as the text grows, and
// its error ends it. If fits is nil, 64 MiB are allowed. Other errors are a
// *[ConversionError].
func RubyText(v Value, fits func(bytes int) error) (string, error) {
	s, err := rubyString(v, fits)
	if err != nil {
		return "", err
	}
	return s, nil
}

// RubyShown is [RubyText] for messages. A text that is too long is truncated.
func RubyShown(v Value) string {
	s, err := rubyString(v, nil)
	if err != nil {
		return s[:min(len(s), maxCut)]
	}
	return s
}

// maxCut is the length of a truncated text.
const maxCut = 1 << 10

// ElementType returns the type of the elements in an iteration over a value, or
// Any if it is unknown.
func ElementType(v Value) Type {
	if t := iterableElem(InferDetailed(v), nil); t != nil {
		return t
	}
	return AnyType{}
}
