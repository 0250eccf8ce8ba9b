package value

// A Native is what a program around the language says of an object type whose
// objects are its own: a target, a result.
type Native struct {
	// New makes an object of what a program of the language gives; nil: as
	// [ObjectType.Create] does. of is what the evaluation keeps for its
	// functions.
	New func(of any, args []Value) (Value, error)
	// Data returns an object as data, which texts and JSON show. If Data is nil,
	// they show the attributes.
	Data func(o *Object) (Value, error)
	// Text is what an object is in a text; nil: its data.
	Text func(o *Object) string
	// Elements are what iterating over an object yields; nil: nobody can.
	Elements func(o *Object) *Array
}

// SetNative says what objects of the type are. It is called before the type is
// shared by goroutines.
func (t *ObjectType) SetNative(n Native) { t.native = n }

// Native returns what SetNative was given.
func (t *ObjectType) Native() Native { return t.native }

// Wrap returns an object of a type that stands for what a program around the
// language has. Values are those of the type's attributes, in order and of the
// right types.
func (t *ObjectType) Wrap(payload any, values ...Value) *Object {
	o := t.object(values)
	o.payload = payload
	return o
}

// Payload is what the object stands for; nil for nothing.
func (o *Object) Payload() any { return o.payload }

// Data returns the object as data; ok is false if its type does not define that.
func (o *Object) Data() (v Value, ok bool, err error) {
	for t := o.typ; t != nil; t = t.super() {
		if t.native.Data != nil {
			v, err := t.native.Data(o)
			return v, true, err
		}
	}
	return nil, false, nil
}
