package regexp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func mustCompile(t testing.TB, src string) *Regexp {
	t.Helper()
	r, err := Compile(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return r
}

// onMatcher compiles without a translation, so that the matcher runs.
func onMatcher(t testing.TB, src string) *Regexp {
	t.Helper()
	r := mustCompile(t, src)
	r.linearOnce.Do(func() {})
	return r
}

func TestErrorPositions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		src  string
		pos  int
		text string // part of the message
	}{
		{"a(b", 1, "not closed"},
		{"ab)", 2, "no opening"},
		{"a|*", 2, "must follow an expression to repeat"},
		{"a[b", 1, "not closed"},
		{"a[]", 1, "empty"},
		{"[c-a]", 0, "before it begins"},
		{`[a-\d]`, 3, "ends with a class"},
		{"[[:foo:]]", 1, "POSIX"},
		{"a{2,1}", 1, "greater"},
		{"a{100001}", 1, "100000"},
		{"(?z)", 2, "option"},
		{"é(?z)", 4, "option"},
		{"(?~a)", 0, "absent operator"},
		{`(?<n>a)\k<n+1>`, 7, "level of recursion"},
		{`(?<n>a)\1`, 7, "by number"},
		{`a\1`, 1, "a group with this number does not exist"},
		{`a\k<x>`, 4, "<x>"},
		{`a\g<x>`, 1, "<x>"},
		{`(?<n>a)(?<n>b)\g<n>`, 14, "several"},
		{`(?<n>a\g<n>)`, 6, "never ends"},
		{`(?<=a*)b`, 4, "fixed width"},
		{`(?<!(a))b`, 4, "look-behind"},
		{`\p{Emoji}`, 0, "Emoji"},
		{`a\xg`, 1, "hexadecimal"},
		{`a\u12`, 1, "Unicode"},
		{`\M-a`, 0, "UTF-8"},
		{"a\xff", 1, "UTF-8"},
		{`a\`, 1, "backslash"},
		{"(?#a", 0, "comment"},
		{"(?<1>a)", 3, "digit"},
		{"(?<>a)", 3, "empty"},
		{"(a)(?(1)a|b|c)", 3, "two alternatives"},
		{strings.Repeat("(", 2000), 1000, "deeply"},
	} {
		_, err := Compile(tt.src)
		var perr *Error
		if !errors.As(err, &perr) || perr.Pos != tt.pos || !strings.Contains(perr.Msg, tt.text) {
			t.Errorf("%.40q: %v (%+v), want %q at %d", tt.src, err, perr, tt.text, tt.pos)
		}
	}
}

// TestExponentialPatternsAreLimited has patterns that would take exponential
// time.
func TestExponentialPatternsAreLimited(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a", 40)
	for _, tt := range []struct {
		src, s string
		err    error
	}{
		{`(a+)+$`, many + "b", nil},                                    // linear by translation
		{`(?!x)(a+)+[bc]`, many + "d", nil},                            // places are remembered
		{`(?!x)(a|aa)+$`, many + "d", nil},                             //
		{`(a*)*[bc]`, many + "d", nil},                                 //
		{`(?:(?=a)a|a)*[bc]`, many + "d", nil},                         //
		{`(a+)+\1[bc]`, many + "d", ErrLimit},                          // back-reference
		{`(?<x>a|a\g<x>?)+[bc]`, many + "d", ErrLimit},                 // call
		{`(?!x)(?:(a{1,30}|x){1,40}){1,40}[bc]`, many + "d", ErrLimit}, // counters
		{strings.Repeat("(?:a{1000}", 9) + strings.Repeat("){1000}", 9), many, nil},
		{strings.Repeat("(?:a{1000}|", 300) + "c" + strings.Repeat(")", 300), "b", nil},
	} {
		for range 2 { // and again with the same result
			r := mustCompile(t, tt.src)
			if ok, err := r.Match(tt.s); ok || !errors.Is(err, tt.err) {
				t.Errorf("%.50s: %v, %v, want %v", tt.src, ok, err, tt.err)
			}
		}
	}
}

func TestEachMethodReturnsErrLimit(t *testing.T) {
	t.Parallel()
	r, s := mustCompile(t, `(a+)+\1[bc]`), strings.Repeat("a", 40)
	if loc, err := r.FindIndex(s, 0); loc != nil || !errors.Is(err, ErrLimit) {
		t.Errorf("FindIndex: %v, %v", loc, err)
	}
	if _, err := r.Replace(s, "", true); !errors.Is(err, ErrLimit) {
		t.Errorf("Replace: %v", err)
	}
	if _, err := r.Split(s, 0); !errors.Is(err, ErrLimit) {
		t.Errorf("Split: %v", err)
	}
	n := 0
	for loc, err := range r.All(s) {
		if n++; loc != nil || !errors.Is(err, ErrLimit) {
			t.Errorf("All: %v, %v", loc, err)
		}
	}
	if n != 1 {
		t.Errorf("All gave %d results", n)
	}
}

func TestLongSubject(t *testing.T) {
	t.Parallel()
	s := strings.Repeat("x=1\n", 1<<18) + "y=2" // 1 MB
	for _, src := range []string{`^y=(\d)$`, `(?<=\n)y=(?=\d)`, `(?!x)^\w=`, `(\w)=2(?!\1)`, `(?<!=)[y]\b.*\Z`} {
		if loc, err := mustCompile(t, src).FindIndex(s, 0); err != nil || loc == nil || loc[0] != 1<<20 {
			t.Errorf("%s: %v, %v", src, loc, err)
		}
	}
	n := 0
	for range mustCompile(t, `(?<!y)=`).All(s) {
		n++
	}
	if n != 1<<18 {
		t.Errorf("%d matches", n)
	}
}

func TestFindIndexContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		src, s string
		from   int
		want   []int
	}{
		{`^b`, "ab", 1, nil},
		{`^b`, "a\nb", 2, []int{2, 3}},
		{`\Ab`, "ab", 1, nil},
		{`\bb`, "ab b", 1, []int{3, 4}},
		{`\Bb`, "ab", 1, []int{1, 2}},
		{`\bb`, "éb b", 2, []int{4, 5}},
		{`(?<=a)b`, "ab", 1, []int{1, 2}},
		{`\Gb`, "abb", 1, []int{1, 2}},
		{`(b)|(c)`, "abc", 2, []int{2, 3, -1, -1, 2, 3}},
		{`$`, "ab", 2, []int{2, 2}},
		{`b`, "ab", 3, nil},
		{`b`, "ab", -1, nil},
	} {
		for _, r := range []*Regexp{mustCompile(t, tt.src), onMatcher(t, tt.src)} {
			if got, err := r.FindIndex(tt.s, tt.from); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s in %q from %d: %v, %v, want %v", tt.src, tt.s, tt.from, got, err, tt.want)
			}
		}
	}
}

// TestInvalidUTF8 checks that a byte that is not UTF-8 is one character,
// both in the translation and in the matcher.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	const s = "a\xffb\xe3\x81"
	for src, want := range map[string]int{
		`.`: 5, `[^a]`: 4, `\w`: 2, `b.`: 1, `\u{fffd}`: 0, `[\u{fffd}a]`: 4, `(?i)A.B`: 1, `(?<=a.)b`: 1, `b..\z`: 1, `\b`: 4, `.*\Z`: 2,
	} {
		for _, r := range []*Regexp{mustCompile(t, src), onMatcher(t, src)} {
			n := 0
			for _, err := range r.All(s) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != want {
				t.Errorf("%s: %d matches, want %d", src, n, want)
			}
			if _, err := r.Replace(s, `\0`, true); err != nil {
				t.Error(err)
			}
			if _, err := r.Split(s, -1); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestQuoteMeta(t *testing.T) {
	t.Parallel()
	// From Ruby: Regexp.escape.
	const in, want = "a-b[c]{d}(e)|f*g.h\\i?j+k^l$m#n o\tp\nq\rr\fs\vté/'\"", `a\-b\[c\]\{d\}\(e\)\|f\*g\.h\\i\?j\+k\^l\$m\#n\ o\tp\nq\rr\fs\vté/'"`
	if got := QuoteMeta(in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	loc, err := mustCompile(t, `(?x)\A`+QuoteMeta(in)+`\z`).FindIndex(in, 0)
	if err != nil || loc == nil {
		t.Errorf("%v, %v", loc, err)
	}
}

func TestGraphemeClusters(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, `\X`)
	for _, want := range [][]string{
		{"e\u0301", "x"}, {"\r\n", "\n", "\r"}, {"🇩🇪", "🇫🇷", "🇪"}, {"👩\u200d👧", "👍🏽"}, {"각", "\u1100\u1161\u11a8"}, {"\u200b", "\u0301"}, {"\u0600a"},
	} {
		var got []string
		s := strings.Join(want, "")
		for loc := range r.All(s) {
			got = append(got, s[loc[0]:loc[1]])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestManyGoroutines is for the race detector: many goroutines use one
// Regexp, with the translation and the matcher.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, `\b(\w)(\w*)\Z`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := []string{"ab cd", "ab é", "x\n", "ab\ncd\n"}[i%4]
			want, _ := mustCompile(t, r.Source()).FindIndex(s, 0)
			for range 200 {
				if got, err := r.FindIndex(s, 0); err != nil || !slices.Equal(got, want) {
					t.Errorf("%q: %v, %v, want %v", s, got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestTranslationMatchesLikeMatcher has generated patterns that both the translation and the
// matcher support.
func TestTranslationMatchesLikeMatcher(t *testing.T) {
	t.Parallel()
	g := generator{rand: rand.New(rand.NewPCG(5, 0)), simple: true}
	translated := 0
	for range 1500 {
		src := g.pattern()
		r, err := Compile(src)
		if err != nil {
			continue
		}
		for range 3 {
			s := g.subject()
			if r.linearFor(s) == nil {
				continue
			}
			translated++
			waysAgree(t, src, s)
		}
	}
	if translated < 2500 {
		t.Errorf("only %d matches were by translation", translated)
	}
}

// waysAgree compares the translation, if there is one, the matcher, and the
// matcher with places remembered from the first step.
func waysAgree(t testing.TB, src, s string) {
	t.Helper()
	all := func(r *Regexp) (locs [][]int, limit bool) {
		for loc, err := range r.All(s) {
			if err != nil {
				return nil, true
			}
			locs = append(locs, loc)
		}
		return locs, false
	}
	equal := func(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal) }
	one, oneLimit := all(mustCompile(t, src))
	two, twoLimit := all(onMatcher(t, src))
	if !oneLimit && !twoLimit && !equal(one, two) {
		t.Errorf("%s in %q: %v, by the matcher %v", src, s, one, two)
	}
	r := onMatcher(t, src)
	var three [][]int
	for from := 0; from <= len(s); {
		m := newMachine(compile(r.pat))
		m.memoAfter = 0
		ok, err := m.search(s, from)
		if err != nil {
			return
		}
		if !ok {
			break
		}
		three = append(three, m.loc())
		from = after(s, m.loc(), from)
	}
	if !twoLimit && !equal(two, three) {
		t.Errorf("%s in %q: %v, with places remembered %v", src, s, two, three)
	}
}

// TestMemoDoesNotChangeMatches has generated patterns of all kinds.
func TestMemoDoesNotChangeMatches(t *testing.T) {
	t.Parallel()
	g := generator{rand: rand.New(rand.NewPCG(6, 0))}
	for range 1500 {
		src := g.pattern()
		if _, err := Compile(src); err == nil {
			waysAgree(t, src, g.subject())
		}
	}
}

func FuzzCompile(f *testing.F) {
	g := generator{rand: rand.New(rand.NewPCG(7, 0))}
	for range 50 {
		f.Add(g.pattern(), g.subject(), `<\0>\1`)
	}
	for _, c := range readCases(f, "testdata/cases.jsonl") {
		f.Add(c.Pattern, c.Subjects[0], c.Template)
	}
	f.Fuzz(func(t *testing.T, src, s, template string) {
		if len(src) > 1<<14 || len(s) > 200 {
			return
		}
		r, err := Compile(src)
		if err != nil {
			var perr *Error
			if !errors.As(err, &perr) || perr.Pos < 0 || perr.Pos > len(src) {
				t.Fatalf("%q: %#v", src, err)
			}
			return
		}
		if (len(r.pat.groups) - 1) < len(r.Names()) {
			t.Errorf("%q: %d groups, names %q", src, (len(r.pat.groups) - 1), r.Names())
		}
		for loc := range r.All(s) {
			for i := 0; i < len(loc); i += 2 {
				if a, b := loc[i], loc[i+1]; (a < 0) != (b < 0) || a > b || b > len(s) {
					t.Fatalf("%q in %q: %v", src, s, loc)
				}
			}
		}
		_, _ = r.Replace(s, template, true)
		_, _ = r.Split(s, 3)
		waysAgree(t, src, s)
	})
}

func FuzzQuoteMeta(f *testing.F) {
	f.Add("a.b", "xa.bx")
	f.Add("é\n[", "[")
	f.Fuzz(func(t *testing.T, s, in string) {
		r, err := Compile(QuoteMeta(s))
		if err != nil {
			return // not UTF-8
		}
		loc, err := r.FindIndex(in, 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Index(in, s); strings.ToValidUTF8(in, "") == in && (loc == nil) != (want < 0) || loc != nil && loc[0] != want && strings.ToValidUTF8(in, "") == in {
			t.Errorf("%q in %q: %v, want %d", s, in, loc, want)
		}
	})
}

// TestManyClasses checks that a class that a pattern repeats takes time and
// memory once, and that too many different classes are rejected.
func TestManyClasses(t *testing.T) {
	var many, groups strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `[\P{L}%c]`, rune(0x4e00+i))
	}
	for i := range 30000 {
		fmt.Fprintf(&groups, `(?<n%d>a)?`, i)
	}
	for pattern, ok := range map[string]bool{
		strings.Repeat(`[\P{L}]`, 50000):          true,
		strings.Repeat(`\P{L}`, 50000):            true,
		strings.Repeat(`[\P{L}][^\p{N}a]`, 25000): true,
		strings.Repeat(`(?i:[a-c])[a-c]`, 25000):  true,
		many.String():                             false,
		groups.String():                           true,
	} {
		begin := time.Now()
		_, err := Compile(pattern)
		if (err == nil) != ok {
			t.Errorf("%.30q…: %v", pattern, err)
		}
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("%.30q… took %v", pattern, d)
		}
	}
	re := mustCompile(t, `[a-c](?i:[a-c])[a-c][b]b[b]`)
	for s, want := range map[string]bool{"aAabbb": true, "AAabbb": false, "aAAbbb": false, "aaabBb": false} {
		if got, err := re.Match(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
}
