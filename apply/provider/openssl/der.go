package openssl

// Tags of elements in DER (X.690).
const (
	derInteger  = 0x02
	derBits     = 0x03
	derOctets   = 0x04
	derSequence = 0x30
)

// element splits data in DER into the value of its first element and the rest. ok is false if the element has
// another tag, or is not complete.
func element(data []byte, tag byte) (value, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != tag {
		return nil, nil, false
	}
	size, data := int(data[1]), data[2:]
	if size >= 0x80 {
		n := size - 0x80 // bytes of the size
		if n == 0 || n > 3 || n > len(data) {
			return nil, nil, false
		}
		size = 0
		for _, b := range data[:n] {
			size = size<<8 | int(b)
		}
		data = data[n:]
	}
	if size > len(data) {
		return nil, nil, false
	}
	return data[:size], data[size:], true
}

// isCertificate reports whether data is one certificate in DER: a sequence of the contents, an algorithm and a
// signature.
func isCertificate(data []byte) bool {
	rest, after, ok := element(data, derSequence)
	if !ok || len(after) > 0 {
		return false
	}
	for _, tag := range [...]byte{derSequence, derSequence, derBits} {
		if _, rest, ok = element(rest, tag); !ok {
			return false
		}
	}
	return len(rest) == 0
}
