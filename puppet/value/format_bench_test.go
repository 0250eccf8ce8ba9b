package value

import "testing"

func BenchmarkFormat(b *testing.B) {
	list := NewArray(make100(100)...)
	for _, c := range []struct {
		name    string
		v       Value
		formats Value
	}{
		{"usual int", Int(255), Default{}},
		{"int", Int(255), String("%#x")},
		{"string", String("abc"), String("%-10s")},
		{"usual array", list, Default{}},
		{"array", list, String("%(a")},
		{"map", list, NewHash(Entry{anyArray, NewHash(Entry{String("format"), String("%a")},
			Entry{String("string_formats"), NewHash(Entry{anyInteger, String("%d")})})})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Format(c.v, c.formats); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	v := NewHash(Entry{String("a"), NewArray(make100(100)...)}, Entry{String("b"), Float(1.5)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Text(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRich(b *testing.B) {
	v := NewHash(Entry{String("a"), NewArray(make100(100)...)}, Entry{String("b"), NewSensitive(String("x"))})
	b.ReportAllocs()
	for b.Loop() {
		out, err := MarshalRich(v)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := UnmarshalRich(out); err != nil {
			b.Fatal(err)
		}
	}
}
