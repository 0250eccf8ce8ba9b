package value

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isSpace reports what \s matches.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// digitsAt returns where the digits that begin at i end.
func digitsAt(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// atoi is the number that few digits are; more than nine count as many.
func atoi(digits string) int {
	n := 0
	for i := range min(len(digits), 9) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
