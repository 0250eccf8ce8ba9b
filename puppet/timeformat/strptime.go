package timeformat

import "strings"

// timeParts are the parts of a time in a text.
type timeParts struct {
	year, month, day, hour, min, sec int
	nanos                            int
	negativeFraction                 bool
	hasYear, hasHour                 bool
	century, meridian                int // -1: not set
	zone                             string
	hasZone                          bool
	leftover                         bool // a part of the text was not parsed
}

// A timeScanner parses a text with a format, as Ruby's DateTime does.
type timeScanner struct {
	s  string
	at int
	timeParts
}

var weekdays = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

var months = [...]string{"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"}

// strptime parses s with a format. If s does not fit, ok is false.
func strptime(s, format string) (p timeParts, ok bool) {
	t := timeScanner{s: s, timeParts: timeParts{century: -1, meridian: -1}}
	if !t.scan(format, 0) {
		return p, false
	}
	t.leftover = t.at < len(s)
	if t.century >= 0 && t.hasYear {
		t.year += t.century * 100
	}
	if t.meridian >= 0 && t.hasHour {
		t.hour = t.hour%12 + t.meridian
	}
	return t.timeParts, true
}

// scan parses with a format. Compound formats can be nested, up to a small
// depth.
func (t *timeScanner) scan(f string, depth int) bool {
	for i := 0; i < len(f); i++ {
		c := f[i]
		switch {
		case isSpace(c):
			t.blanks()
		case c != '%' || i+1 == len(f):
			if !t.literal(c) {
				return false
			}
		default:
			n := directive(f[i+1:])
			if n == 0 {
				if !t.literal('%') {
					return false
				}
				continue
			}
			i += n
			if !t.directive(f[i], f[i+1:], depth) {
				return false
			}
		}
	}
	return true
}

// directive returns the length of the directive after a %, up to its letter. If
// the % is literal, it returns 0.
func directive(f string) int {
	switch f[0] {
	case 'E':
		if len(f) > 1 && strings.IndexByte("cCxXyY", f[1]) >= 0 {
			return 2
		}
		return 0
	case 'O':
		if len(f) > 1 && strings.IndexByte("deHImMSuUVwWy", f[1]) >= 0 {
			return 2
		}
		return 0
	case ':':
		for n := 1; n <= 3 && n < len(f); n++ {
			if f[n] == 'z' {
				return n + 1
			}
			if f[n] != ':' {
				break
			}
		}
		return 0
	}
	if strings.IndexByte("AaBbhCcDdeFGgHkIljLNMmntPpQRrSsTUWuVvwXxYyZz%+", f[0]) >= 0 {
		return 1
	}
	return 0
}

func (t *timeScanner) blanks() {
	for t.at < len(t.s) && isSpace(t.s[t.at]) {
		t.at++
	}
}

func (t *timeScanner) literal(c byte) bool {
	if t.at >= len(t.s) || t.s[t.at] != c {
		return false
	}
	t.at++
	return true
}

// compound returns the format that a directive is an abbreviation of, or "".
func compound(c byte) string {
	switch c {
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case 'D', 'x':
		return "%m/%d/%y"
	case 'F':
		return "%Y-%m-%d"
	case 'R':
		return "%H:%M"
	case 'r':
		return "%I:%M:%S %p"
	case 'T', 'X':
		return "%H:%M:%S"
	case 'v':
		return "%e-%b-%Y"
	case '+':
		return "%a %b %e %H:%M:%S %Z %Y"
	case 'n', 't':
		return " "
	}
	return ""
}

// directive parses the part for one letter. rest is the format after it.
func (t *timeScanner) directive(c byte, rest string, depth int) bool {
	if f := compound(c); f != "" {
		return depth < 3 && t.scan(f, depth+1)
	}
	var n int
	switch c {
	case 'A', 'a':
		return t.name(weekdays[:], &n)
	case 'B', 'b', 'h':
		if !t.name(months[:], &n) {
			return false
		}
		t.month = n + 1
		return true
	case 'C':
		return t.number(widthBefore(rest, 2), &t.century)
	case 'd', 'e':
		return t.blankNumber(1, 31, &t.day)
	case 'H', 'k':
		t.hasHour = true
		return t.blankNumber(0, 24, &t.hour)
	case 'I', 'l':
		t.hasHour = true
		return t.blankNumber(1, 12, &t.hour)
	case 'G':
		return t.number(widthBefore(rest, 4), &n)
	case 'g':
		return t.between(2, 0, 99, &n)
	case 'j':
		return t.between(3, 1, 366, &n)
	case 'L':
		return t.fraction(widthBefore(rest, 3))
	case 'N':
		return t.fraction(widthBefore(rest, 9))
	case 'M':
		return t.between(2, 0, 59, &t.min)
	case 'm':
		return t.between(2, 1, 12, &t.month)
	case 'P', 'p':
		return t.halfDay()
	case 'Q', 's':
		if t.at < len(t.s) && t.s[t.at] == '-' {
			t.at++
		}
		return t.number(-1, &n)
	case 'S':
		return t.between(2, 0, 60, &t.sec)
	case 'U', 'W':
		return t.between(2, 0, 53, &n)
	case 'u':
		return t.between(1, 1, 7, &n)
	case 'V':
		return t.between(2, 1, 53, &n)
	case 'w':
		return t.between(1, 0, 6, &n)
	case 'Y':
		negative := t.sign()
		if !t.number(widthBefore(rest, 4), &t.year) {
			return false
		}
		if negative {
			t.year = -t.year
		}
		t.hasYear = true
		return true
	case 'y':
		if !t.between(2, 0, 99, &t.year) {
			return false
		}
		t.hasYear = true
		if t.century < 0 {
			t.century = 20
			if t.year >= 69 {
				t.century = 19
			}
		}
		return true
	case 'Z', 'z':
		n := scanZone(t.s[t.at:])
		t.zone, t.hasZone = t.s[t.at:t.at+n], true
		t.at += n
		return n > 0
	}
	return t.literal('%') // %%
}

// widthBefore returns the number of digits of a number. If another number
// follows in the format, the width is fixed. Otherwise it is -1, which means
// any number of digits.
func widthBefore(rest string, width int) int {
	if rest == "" {
		return -1
	}
	if isDigit(rest[0]) {
		return width
	}
	if rest[0] == '%' {
		rest = rest[1:]
		if rest != "" && (rest[0] == 'E' || rest[0] == 'O') {
			rest = rest[1:]
		}
		if rest != "" && (isDigit(rest[0]) || strings.IndexByte("CDdeFGgHIjkLlMmNQRrSsTUuVvWwXxYy", rest[0]) >= 0) {
			return width
		}
	}
	return -1
}

// name parses one of names, or its first three letters.
func (t *timeScanner) name(names []string, n *int) bool {
	s := t.s[t.at:]
	for i, name := range names {
		for _, length := range [...]int{len(name), 3} {
			if len(s) >= length && strings.EqualFold(s[:length], name[:length]) {
				t.at += length
				*n = i
				return true
			}
		}
	}
	return false
}

// maxTimeNumber limits numbers in texts of times.
const maxTimeNumber = 1 << 40

// number parses up to width digits. If width is -1, it parses all digits.
func (t *timeScanner) number(width int, n *int) bool {
	start := t.at
	v := 0
	for t.at < len(t.s) && isDigit(t.s[t.at]) && t.at-start != width {
		if v = v*10 + int(t.s[t.at]-'0'); v > maxTimeNumber {
			return false
		}
		t.at++
	}
	*n = v
	return t.at > start
}

func (t *timeScanner) between(width, lo, hi int, n *int) bool {
	return t.number(width, n) && lo <= *n && *n <= hi
}

// blankNumber parses two digits, or a blank and a digit.
func (t *timeScanner) blankNumber(lo, hi int, n *int) bool {
	if t.at < len(t.s) && t.s[t.at] == ' ' {
		t.at++
		return t.between(1, lo, hi, n)
	}
	return t.between(2, lo, hi, n)
}

// sign parses a sign, if there is one.
func (t *timeScanner) sign() (negative bool) {
	if t.at < len(t.s) && (t.s[t.at] == '-' || t.s[t.at] == '+') {
		negative = t.s[t.at] == '-'
		t.at++
	}
	return negative
}

// fraction parses a fraction of a second.
func (t *timeScanner) fraction(width int) bool {
	negative := t.sign()
	start := t.at
	t.nanos = 0
	for t.at < len(t.s) && isDigit(t.s[t.at]) && t.at-start != width {
		if t.at-start < 9 {
			t.nanos = t.nanos*10 + int(t.s[t.at]-'0')
		}
		t.at++
	}
	for i := t.at - start; i < 9; i++ {
		t.nanos *= 10
	}
	t.negativeFraction = negative && t.nanos != 0
	return t.at > start
}

// halfDay parses am, pm, a.m. or p.m.
func (t *timeScanner) halfDay() bool {
	s := t.s[t.at:]
	if len(s) < 2 {
		return false
	}
	switch s[0] | 0x20 {
	case 'a':
		t.meridian = 0
	case 'p':
		t.meridian = 12
	default:
		return false
	}
	switch {
	case len(s) >= 4 && s[1] == '.' && s[2]|0x20 == 'm' && s[3] == '.':
		t.at += 4
	case s[1]|0x20 == 'm':
		t.at += 2
	default:
		return false
	}
	return true
}

// wordAt reports whether byte i of s is an ASCII letter, a digit or _.
func wordAt(s string, i int) bool {
	return i < len(s) && (s[i] == '_' || isLetter(s[i]) || isDigit(s[i]))
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// scanZone returns the number of bytes at the beginning of s that are a time
// zone.
func scanZone(s string) int {
	if n := scanOffset(s); n > 0 {
		return n
	}
	letters := 0
	for letters < len(s) && isLetter(s[letters]) {
		letters++
	}
	run := letters // letters, dots and blanks
	for run < len(s) && (isLetter(s[run]) || s[run] == '.' || isSpace(s[run])) {
		run++
	}
	for k := run - 1; k > 0; k-- {
		for _, word := range [...]string{"standard", "daylight"} {
			n := k + len(word) + 1 + len("time")
			if n <= len(s) && strings.EqualFold(s[k:k+len(word)], word) && isSpace(s[k+len(word)]) &&
				strings.EqualFold(s[n-4:n], "time") && !wordAt(s, n) {
				return n
			}
		}
	}
	if letters == 0 {
		return 0
	}
	blanks := letters
	for blanks < len(s) && isSpace(s[blanks]) {
		blanks++
	}
	if n := blanks + len("dst"); blanks > letters && n <= len(s) && strings.EqualFold(s[blanks:n], "dst") && !wordAt(s, n) {
		return n
	}
	if wordAt(s, letters) {
		return 0
	}
	return letters
}

// scanOffset returns the number of bytes at the beginning of s that are an
// offset such as UTC+1:30.
func scanOffset(s string) int {
	i := 0
	for _, prefix := range [...]string{"gmt", "utc", "ut"} {
		if n := len(prefix); len(s) > n && strings.EqualFold(s[:n], prefix) && (s[n] == '+' || s[n] == '-') {
			i = n
			break
		}
	}
	if i >= len(s) || s[i] != '+' && s[i] != '-' {
		return 0
	}
	n := digitsAt(s, i+1)
	if n == i+1 {
		return 0
	}
	if n < len(s) && strings.IndexByte(",.:", s[n]) >= 0 {
		if m := digitsAt(s, n+1); m > n+1 {
			n = m
			if n < len(s) && s[n] == ':' {
				if m := digitsAt(s, n+1); m > n+1 {
					n = m
				}
			}
		}
	}
	return n
}

// digitsAt returns the end of the digits that begin at i.
func digitsAt(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// lookupZone returns the offset of a time zone from UTC in seconds.
func lookupZone(name string) (offset int, ok bool) {
	s, dst := name, false
	if t, cut := cutWord(s, "time"); cut {
		if u, cut := cutWord(t, "standard"); cut {
			s = u
		} else if u, cut := cutWord(t, "daylight"); cut {
			s, dst = u, true
		}
	} else if t, cut := cutWord(s, "dst"); cut {
		s, dst = t, true
	}
	key := strings.ToLower(oneBlank(s))
	lo, hi := 0, len(zones)
	for lo < hi {
		if mid := (lo + hi) / 2; zones[mid].name < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(zones) && zones[lo].name == key {
		return zones[lo].offset + 3600*boolInt(dst), true
	}
	return parseOffset(s)
}

// oneBlank replaces each run of blanks with one blank.
func oneBlank(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if !isSpace(s[i]) {
			b = append(b, s[i])
		} else if i == 0 || !isSpace(s[i-1]) {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// cutWord removes a word and the blanks before it from the end of s.
func cutWord(s, word string) (string, bool) {
	n := len(s) - len(word)
	if n <= 0 || !isSpace(s[n-1]) || !strings.EqualFold(s[n:], word) {
		return s, false
	}
	for n > 0 && isSpace(s[n-1]) {
		n--
	}
	return s[:n], true
}

// parseOffset parses +1, +0130, +1:30:15, +1.5, with an optional GMT or UTC
// before it.
func parseOffset(s string) (offset int, ok bool) {
	if len(s) > 3 && (strings.EqualFold(s[:3], "gmt") || strings.EqualFold(s[:3], "utc")) {
		s = s[3:]
	}
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	s = s[1:]
	n := digitsAt(s, 0)
	if n < len(s) {
		hours := atoi(s[:n])
		if s[n] == ':' {
			m := digitsAt(s, n+1)
			minutes, seconds := atoi(s[n+1:m]), 0
			if m < len(s) {
				seconds = atoi(s[m+1:])
			}
			return sign * (hours*3600 + minutes*60 + seconds), true
		}
		return sign * (hours*3600 + fractionOfHour(s[n+1:])), true
	}
	var parts [3]int
	first := 2 - len(s)%2
	if len(s) <= 2 {
		first = len(s)
	}
	for i, at := 0, 0; i < 3 && at < len(s); i++ {
		end := at + 2
		if i == 0 {
			end = first
		}
		parts[i] = atoi(s[at:min(end, len(s))])
		at = end
	}
	return sign * (parts[0]*3600 + parts[1]*60 + parts[2]), true
}

// fractionOfHour converts a decimal fraction of an hour to seconds.
func fractionOfHour(digits string) int {
	const most = 7
	n := min(len(digits), most)
	f := atoi(digits[:n])
	if len(digits) > n && digits[n] >= byte('5'+1-f&1) {
		f++
	}
	f *= 36
	for ; n < 2; n++ {
		f *= 10
	}
	for ; n > 2; n-- {
		f /= 10
	}
	return f
}

// atoi converts digits to a number. It uses only the first nine digits.
func atoi(digits string) int {
	n := 0
	for i := range min(len(digits), 9) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
