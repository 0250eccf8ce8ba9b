package value

// A Native defines the objects of an object type that the host of the language
// provides, such as a target or a result.
type Native struct {
	// New makes an object from the arguments in a program. If New is nil,
	// [ObjectType.Create] is used. of is the data of the evaluation for its
	// functions.
	New func(of any, args []Value) (Value, error)
	// Data returns an object as data, which texts and JSON show. If Data is nil,
	// they show the attributes.
	Data func(o *Object) (Value, error)
	// Text returns the string form of an object. If Text is nil, it is the data
	// of the object.
	Text func(o *Object) string
	// Elements returns the elements in an iteration over an object. If Elements
	// is nil, the object cannot be iterated.
	Elements func(o *Object) *Array
}

// SetNative sets the Native of the type. It must be called before goroutines
// share the type.
func (t *ObjectType) SetNative(n Native) { t.native = n }

// Native returns the argument of SetNative.
func (t *ObjectType) Native() Native { return t.native }

// Wrap returns an object of the type for a value of the host. values are the
// values of the attributes of the type. They must be in order and have the
// right types.
func (t *ObjectType) Wrap(payload any, values ...Value) *Object {
	o := t.object(values)
	o.payload = payload
	return o
}

// Payload returns the value of the host that the object stands for, or nil.
func (o *Object) Payload() any { return o.payload }

// Data returns the object as data. If its type does not define Data, ok is
// false.
func (o *Object) Data() (v Value, ok bool, err error) {
	for t := o.typ; t != nil; t = t.super() {
		if t.native.Data != nil {
			v, err := t.native.Data(o)
			return v, true, err
		}
	}
	return nil, false, nil
}
