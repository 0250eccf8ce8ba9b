package value

import (
	"strings"
	"sync"
)

// Builtin returns the type with a name, such as "Integer" or "scalardata". The
// case of the name does not matter. Resource types such as File are not
// included, because they depend on the modules.
func Builtin(name string) (Type, bool) {
	if t := builtin(name); t != nil {
		return t, true
	}
	t := builtin(strings.ToLower(name))
	return t, t != nil
}

// builtin looks up the name in lower case or in its usual case.
func builtin(name string) Type {
	switch name {
	case "Any", "any":
		return AnyType{}
	case "Undef", "undef":
		return UndefType{}
	case "Default", "default":
		return DefaultType{}
	case "Scalar", "scalar":
		return ScalarType{}
	case "ScalarData", "scalardata":
		return ScalarDataType{}
	case "Numeric", "numeric":
		return NumericType{}
	case "Integer", "integer":
		return anyInteger
	case "Float", "float":
		return anyFloat
	case "Boolean", "boolean":
		return anyBoolean
	case "String", "string":
		return anyString
	case "Enum", "enum":
		return anyEnum
	case "Pattern", "pattern":
		return anyPattern
	case "Regexp", "regexp":
		return anyRegexp
	case "SemVer", "semver":
		return anySemVer
	case "SemVerRange", "semverrange":
		return SemVerRangeType{}
	case "Timespan", "timespan":
		return anyTimespan
	case "Timestamp", "timestamp":
		return anyTimestamp
	case "Binary", "binary":
		return BinaryType{}
	case "URI", "uri":
		return anyURI
	}
	return builtinNested(name)
}

func builtinNested(name string) Type {
	switch name {
	case "Array", "array":
		return anyArray
	case "Hash", "hash":
		return anyHash
	case "Struct", "struct":
		return anyStruct
	case "Tuple", "tuple":
		return anyTuple
	case "Collection", "collection":
		return anyCollection
	case "Optional", "optional":
		return anyOptional
	case "NotUndef", "notundef":
		return anyNotUndef
	case "Variant", "variant":
		return anyVariant
	case "Sensitive", "sensitive":
		return anySensitive
	case "Type", "type":
		return anyType
	case "Callable", "callable":
		return anyCallable
	case "Iterable", "iterable":
		return anyIterable
	case "Iterator", "iterator":
		return anyIterator
	case "Init", "init":
		return anyInit
	case "Runtime", "runtime":
		return anyRuntime
	case "CatalogEntry", "catalogentry":
		return CatalogEntryType{}
	case "Class", "class":
		return anyClass
	case "Resource", "resource":
		return anyResource
	case "Object", "object":
		return anyObject
	case "TypeSet", "typeset":
		return anyTypeSet
	case "TypeAlias", "typealias":
		return anyAlias
	case "TypeReference", "typereference":
		return anyReference
	}
	return builtinAlias(name)
}

// builtinAlias looks up the aliases.
func builtinAlias(name string) Type {
	switch name {
	case "Data", "data":
		return dataType()
	case "RichData", "richdata":
		return richDataType()
	case "RichDataKey", "richdatakey":
		return richDataKeyType()
	case "Puppet::LookupKey", "puppet::lookupkey":
		return lookupKeyType()
	case "Puppet::LookupValue", "puppet::lookupvalue":
		return lookupValueType()
	case "Deferred", "deferred":
		return DeferredType()
	case "Error", "error":
		return ErrorType()
	}
	return nil
}

// The aliases of the language. Most commands need none of them.
var (
	dataType        = sync.OnceValue(newData)
	richDataKeyType = builtinAliasOf("RichDataKey", func() Type { return NewVariantType(anyString, NumericType{}) })
	richDataType    = sync.OnceValue(newRichData)
	lookupKeyType   = builtinAliasOf("Puppet::LookupKey", func() Type { return richDataKeyType() })
	lookupValueType = builtinAliasOf("Puppet::LookupValue", func() Type { return richDataType() })

	anyReference = &ReferenceType{"UnresolvedReference"}
	anyAlias     = &AliasType{name: "UnresolvedAlias", resolved: anyReference}
)

func builtinAliasOf(name string, t func() Type) func() *AliasType {
	return sync.OnceValue(func() *AliasType { return &AliasType{name: name, resolved: t(), builtin: true} })
}

func newData() *AliasType {
	a := &AliasType{name: "Data", recursive: true, builtin: true}
	a.resolved = NewVariantType(ScalarDataType{}, UndefType{}, newHashType(anyString, a, nil), newArrayType(a, nil))
	return a
}

func newRichData() *AliasType {
	a := &AliasType{name: "RichData", recursive: true, builtin: true}
	a.resolved = NewVariantType(ScalarType{}, SemVerRangeType{}, BinaryType{}, anySensitive, anyType, anyTypeSet, anyURI,
		anyObject, UndefType{}, DefaultType{}, newHashType(richDataKeyType(), a, nil), newArrayType(a, nil))
	return a
}
