package value

// maxDescribed is how many values may be in what is described by all of them.
const maxDescribed = 100_000

// DescribeValue names what a value is, for messages: "Array[Integer]". Of what is
// very large it tells the kind only.
func DescribeValue(v Value) string {
	if shapeOf(v).nodes > maxDescribed {
		return valueKind(v)
	}
	return TypeString(Generalize(Infer(v)))
}
