package value

// maxDescribed is the largest number of values in a value whose description
// uses all of them.
const maxDescribed = 100_000

// DescribeValue describes the type of a value for messages, such as
// "Array[Integer]". For a very large value it returns only the kind.
func DescribeValue(v Value) string {
	if shapeOf(v).nodes > maxDescribed {
		return valueKind(v)
	}
	return TypeString(Generalize(Infer(v)))
}
