package value

import "sync/atomic"

// languageTypes are the object types of the language.
type languageTypes struct{ error, deferred *ObjectType }

// languageCache holds the types after their first use. It is not a
// sync.OnceValue, because the code that makes the types can use them.
var languageCache atomic.Pointer[languageTypes]

func ofLanguage() *languageTypes {
	if languageCache.Load() == nil {
		languageCache.CompareAndSwap(nil, &languageTypes{newErrorType(), newDeferredType()})
	}
	return languageCache.Load()
}

// ErrorType returns the type Error, which is the type of error values.
func ErrorType() *ObjectType { return ofLanguage().error }

// DeferredType returns the type Deferred, which is a call that is made later.
func DeferredType() *ObjectType { return ofLanguage().deferred }

func hashOf(pairs ...any) *Hash {
	var b HashBuilder
	for i := 0; i < len(pairs); i += 2 {
		b.Put(String(pairs[i].(string)), pairs[i+1].(Value))
	}
	return b.Build()
}

// mustObject makes the types of this file, whose definitions are valid.
func mustObject(name string, init *Hash) *ObjectType {
	t, err := newObjectType(name, init)
	if err != nil {
		panic(err)
	}
	return t
}

func newErrorType() *ObjectType {
	matcher := NewVariantType(anyString, anyRegexp, newTypeType(anyEnum), newTypeType(anyPattern), newTypeType(anyNotUndef), newTypeType(UndefType{}))
	optional := func(t Type) *Hash { return hashOf("type", newOptionalType(t), "value", Undef{}) }
	return mustObject("Error", hashOf(
		"type_parameters", hashOf("kind", newOptionalType(matcher), "issue_code", newOptionalType(matcher)),
		"attributes", hashOf(
			"msg", nonEmptyString,
			"kind", optional(nonEmptyString),
			"details", optional(newHashType(nonEmptyString, dataType(), nil)),
			"issue_code", optional(nonEmptyString)),
		"functions", hashOf("message", NewCallableType(newTupleType(nil, noSize), nil, nonEmptyString)),
	))
}

func newDeferredType() *ObjectType {
	name, err := NewRegexp(`\A[$]?[a-z][a-z0-9_]*(?:::[a-z][a-z0-9_]*)*\z`)
	if err != nil {
		panic(err)
	}
	return mustObject("Deferred", hashOf("attributes", hashOf(
		"name", hashOf("type", newPatternType([]*RegexpType{{name}})),
		"arguments", hashOf("type", newOptionalType(anyArray), "value", Undef{}),
	)))
}
