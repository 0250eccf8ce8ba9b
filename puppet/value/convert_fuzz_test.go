package value

import (
	"bolt/puppet/timeformat"
	"bytes"
	"testing"
	"time"
	"unicode/utf8"
)

// fuzzValues are values of all kinds for formatting.
func fuzzValues() []Value {
	return []Value{
		Undef{}, Default{}, Bool(true), Int(-255), Float(2.675), String("a\\é'$\n"), NewArray(Int(1), NewArray(String("x")), NewHash(Entry{Int(1), Undef{}})),
		NewHash(Entry{String("k"), NewArray(Float(1), NewArray())}), NewBinary([]byte{0, 255}), Timespan(-90061e9), NewTimestamp(time.Unix(1e9, 5)),
		NewSemVer(1, 2, 3, "a", "b"), NewSensitive(Int(1)), anyInteger, must(NewRegexp("a/b")), must(ParseURI("http://x/y")),
		must(ErrorType().Create([]Value{String("m")})),
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d", "%#10.3x", "%-08.2f", "%#(a", "%| 5h", "x\n%s\ny", "%[{s", "%.p", "%99999999999d"} {
		f.Add(s)
	}
	values := fuzzValues()
	f.Fuzz(func(t *testing.T, format string) {
		for _, v := range values {
			if s, err := Format(v, String(format)); err == nil && utf8.ValidString(format) && !utf8.ValidString(string(s)) {
				t.Errorf("%s by %q: %q is not in UTF-8", Inspect(v), format, s)
			}
		}
	})
}

func FuzzSprintf(f *testing.F) {
	for _, s := range []string{"%d %s", "%2$s %1$x", "%<k>5.1f%{k}", "%*d|%-*s", "%%", "%+ 0#12.3e", "%c%p%a", "%.*f"} {
		f.Add(s)
	}
	values := fuzzValues()
	f.Fuzz(func(t *testing.T, format string) {
		if len(format) > 200 {
			return
		}
		Sprintf(format, values, nil)
		for _, v := range values {
			Sprintf(format, []Value{v}, nil)
		}
	})
}

func FuzzSemVerRange(f *testing.F) {
	for _, s := range []string{">=1.2.0 <2.0.0", "1.x || ~2.3 || ^0.1.2-rc1", "1.0 - 2", "", "|| > v1", ">=2 <1 >0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseSemVerRange(s)
		if err != nil {
			return
		}
		if r.String() != s && s != "" && r.String() != "*" {
			t.Errorf("%q prints as %q", s, r.String())
		}
		r.Includes(NewSemVer(1, 2, 3, "rc1", ""))
		r.overlap(r)
		r.coveredBy(r)
	})
}

func FuzzSemVer(f *testing.F) {
	for _, s := range []string{"1.2.3", "1.2.3-rc.1+b.5", "0.0.0-0", "1.2.3-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseSemVer(s)
		if err != nil {
			return
		}
		if back, err := ParseSemVer(v.String()); err != nil || !back.Equal(v) || back.Compare(v) != 0 {
			t.Errorf("%q came back as %v, error %v", s, back, err)
		}
	})
}

func FuzzTimestamp(f *testing.F) {
	for _, s := range [][3]string{
		{"2001-02-03T04:05:06.789 CET", "%FT%T.%N %Z", ""}, {"Sat Feb  3 04:05:06 2001", "%c", "+01:30"},
		{"12 pm", "%I %p", "EST DST"}, {"+1.99999999", "%z", "x"}, {"20010203", "%Y%m%d", "Pacific Standard Time"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, s, format, zone string) {
		at, err := ParseTimestamp(s, []string{format}, zone)
		if err != nil {
			at = NewTimestamp(time.Unix(1e9, 123456789))
		}
		at.Format(format, zone)
		if back, err := ParseTimestamp(at.String(), nil, ""); at.Year() >= 0 && (err != nil || !back.Equal(at.Time)) {
			t.Errorf("%v came back as %v, error %v", at, back, err)
		}
	})
}

func FuzzTimespan(f *testing.F) {
	for _, s := range [][2]string{{"1-02:03:04.5", "%D-%H:%M:%S.%-N"}, {"  5", "%_3S"}, {"-5", "-%S"}, {"1", "%9L"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, s, format string) {
		d, err := parseTimespan(s, format)
		if err != nil {
			d = -90061e9
		}
		d.Format(format)
		parseTimespan(s, timeformat.SpanFormats()...)
	})
}

func FuzzRich(f *testing.F) {
	for _, s := range []string{
		`[1,1.5,"x",null,{"a":true}]`, `{"__ptype":"Hash","__pvalue":[1,2]}`, `{"__ptype":"Sensitive","__pvalue":1}`,
		`{"__ptype":"Pcore::StructType","elements":[{"__ptype":"Pcore::StructElement","key_type":{"__ptype":"Pcore::StringType","size_type_or_value":"a"},"value_type":{"__ptype":"Pcore::AnyType"}}]}`,
		`{"__ptype":"Pcore::TypeAliasType","name":"A","resolved_type":{"__ptype":"Pcore::ArrayType","element_type":{"__ptype":"LocalRef","__pvalue":"$"}}}`,
		`{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"A","parent":{"__ptype":"LocalRef","__pvalue":"$"},"attributes":{"x":{"type":{"__ptype":"LocalRef","__pvalue":"$"},"value":1}}}}`,
		`{"__ptype":"Pcore::ObjectTypeExtenType","base_type":{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"type_parameters":{"p":{"__ptype":"Pcore::IntegerType"}}}},"init_parameters":[1]}`,
		`{"a":[1],"b":{"__ptype":"LocalRef","__pvalue":"$['a'][0]"}}`, `{"__float":"NaN"}`, `{"__ptype":"Error","msg":"x"}`,
		`{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"A","attributes":{"a":{"__ptype":"Pcore::AnyType"}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := UnmarshalRich(b)
		if err != nil {
			return
		}
		out, err := MarshalRich(v)
		if err != nil {
			return
		}
		// Some types lose their parameter, but only once.
		back, err := UnmarshalRich(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if again, err := MarshalRich(back); err != nil || !bytes.Equal(out, again) {
			t.Errorf("%s came back as %s, error %v", out, again, err)
		}
	})
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{"http://u:p@h:80/p?q#f", "mailto:a@b", "ftp://h/%2Fx;type=i", "//[::1]/", "urn:a:b", "file:/x", "../a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURI(s)
		if err != nil {
			return
		}
		// Without a host, a path with two leading slashes looks like a host.
		if back, err := ParseURI(u.String()); err == nil && u.hasHost && back.String() != u.String() {
			t.Errorf("%q prints as %q, and that as %q", s, u, back)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "0x1F", "-052", "1e5", "0b11", "- 5", "1_000", "0x1.8p1", "1e400", "0x1_", "_1", "1.", "0x.8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, typ := range []Type{anyInteger, anyFloat, NumericType{}} {
			New(typ, []Value{String(s)})
		}
		ParseNumber(s)
		Sprintf("%d", []Value{String(s)}, nil)
		Sprintf("%f", []Value{String(s)}, nil)
	})
}
