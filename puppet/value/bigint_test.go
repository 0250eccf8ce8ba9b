package value

import (
	"math"
	"math/big"
	"testing"
)

// large returns 10 to the power of 20, with a sign.
func large(sign int64) Value {
	n := new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil)
	return NewInteger(n.Mul(n, big.NewInt(sign)))
}

func TestNewInteger(t *testing.T) {
	for _, n := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		if v := NewInteger(big.NewInt(n)); v != Value(Int(n)) {
			t.Errorf("%d is %T", n, v)
		}
	}
	n := new(big.Int).Lsh(big.NewInt(1), 64)
	v := NewInteger(n).(*BigInt)
	n.SetInt64(1)
	v.Big().SetInt64(1)
	if v.String() != "18446744073709551616" {
		t.Errorf("the number changed to %s", v)
	}
}

func TestBigIntTypes(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		v    Value
		want bool
	}{
		{&IntegerType{}, large(1), true},
		{&IntegerType{}, large(-1), true},
		{&IntegerType{HasMin: true}, large(1), true},
		{&IntegerType{HasMin: true}, large(-1), false},
		{&IntegerType{HasMax: true}, large(-1), true},
		{NewIntegerType(math.MinInt64, math.MaxInt64), large(1), false},
		{&FloatType{math.Inf(-1), math.Inf(1)}, large(1), false},
		{NumericType{}, large(1), true},
		{ScalarDataType{}, large(1), true},
		{ScalarType{}, large(1), true},
		{&StringType{}, large(1), false},
	} {
		if got := Instance(tt.typ, tt.v); got != tt.want {
			t.Errorf("%s =~ %s is %v", Inspect(tt.v), TypeString(tt.typ), got)
		}
	}
	for _, v := range []Value{large(1), large(-1), NewArray(large(1), Int(1)), NewHash(Entry{large(1), large(-1)})} {
		if !Instance(Infer(v), v) || !Instance(InferDetailed(v), v) {
			t.Errorf("%s is not of its own type %s", Inspect(v), TypeString(Infer(v)))
		}
	}
	if got := DescribeValue(NewArray(large(1))); got != "Array[Integer]" {
		t.Errorf("described as %s", got)
	}
}

func TestBigIntOrder(t *testing.T) {
	ascending := []Value{Float(math.Inf(-1)), large(-2), large(-1), Int(math.MinInt64), Float(-1.5), Int(math.MaxInt64), Float(1e19), large(1), large(2), Float(1e300), Float(math.Inf(1))}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got, err := Compare(a, b); err != nil || got != want {
				t.Errorf("%s and %s: %d, %v, want %d", Inspect(a), Inspect(b), got, err, want)
			}
			if Equal(a, b) != (want == 0) || Same(a, b) != (want == 0) {
				t.Errorf("%s == %s", Inspect(a), Inspect(b))
			}
		}
	}
	if !Equal(large(1), Float(1e20)) || !Equal(Float(1e20), large(1)) || Same(large(1), Float(1e20)) {
		t.Error("an integer and a float of the same number are equal, and not the same key")
	}
	if Equal(large(1), Float(math.NaN())) || Equal(large(1), String("100000000000000000000")) {
		t.Error("equal to what is not a number")
	}
	h := NewHash(Entry{large(1), Int(1)}, Entry{large(-1), Int(2)})
	if v, ok := h.Get(large(1)); !ok || v != Value(Int(1)) || h.Len() != 2 {
		t.Errorf("the key is not found: %v", v)
	}
}

func TestBigIntText(t *testing.T) {
	const digits = "100000000000000000000"
	v := large(1)
	for _, got := range []string{ToString(v), Inspect(v), RubyShown(v)} {
		if got != digits {
			t.Errorf("got %s", got)
		}
	}
	for verb, want := range map[string]string{"%d": digits, "%s": digits, "%p": digits, "%x": "56bc75e2d63100000", "%25d": "    " + digits, "%.1e": "1.0e+20"} {
		if got, err := Format(v, String(verb)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", verb, got, err, want)
		}
	}
	for _, marshal := range []func(Value) ([]byte, error){MarshalData, MarshalRich} {
		b, err := marshal(NewArray(v))
		if err != nil || string(b) != "["+digits+"]" {
			t.Errorf("JSON is %s, %v", b, err)
		}
		again, err := FromJSON(b)
		if err != nil || !Same(again, NewArray(v)) {
			t.Errorf("read again: %v, %v", again, err)
		}
	}
}

func TestBigIntConversion(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		v    Value
		args []Value
		want string
	}{
		{&IntegerType{}, large(-1), nil, "-100000000000000000000"},
		{&IntegerType{}, large(-1), []Value{Default{}, Bool(true)}, "100000000000000000000"},
		{NumericType{}, large(-1), nil, "-100000000000000000000"},
		{NumericType{}, large(-1), []Value{Bool(true)}, "100000000000000000000"},
		{&FloatType{math.Inf(-1), math.Inf(1)}, large(1), nil, "1.0e+20"},
		{&BooleanType{}, large(1), nil, "true"},
		{&StringType{}, large(1), nil, "'100000000000000000000'"},
	} {
		got, err := New(tt.typ, append([]Value{tt.v}, tt.args...))
		if err != nil || Inspect(got) != tt.want {
			t.Errorf("%s(%s): %v, %v, want %s", TypeString(tt.typ), Inspect(tt.v), got, err, tt.want)
		}
	}
	for v, want := range map[Value]Int{Int(5): 5, large(1): math.MaxInt64, large(-1): math.MinInt64, String("1"): 0} {
		if got := ClampInt(v); got != want {
			t.Errorf("%v: %d", v, got)
		}
	}
}
