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

// isSpace reports whether \s matches c.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// digitsAt returns the end of the digits that begin at i.
func digitsAt(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// atoi converts digits to a number. It uses only the first nine digits.
func atoi(digits string) int {
	n := 0
	for i := range min(len(digits), 9) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
