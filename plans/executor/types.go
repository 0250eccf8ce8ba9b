package executor

import "bolt/puppet/value"

// types are the types of the language for the objects of an Executor. Attributes
// that a function returns are derived: an object stores no value for them.
type types struct {
	target, result, applyResult, resultSet, future, containerResult, resource *value.ObjectType
	targetInit, resourceInit                                                  *value.StructType
}

// typeAliases are the types that are written in the language.
const typeAliases = `
type Boltlib::TargetSpec = Variant[String[1], Target, Array[Boltlib::TargetSpec]]
type TargetSpec = Boltlib::TargetSpec
type Boltlib::PlanResult = Variant[Boolean, Numeric, String, Undef, Error, Result, ApplyResult, ResultSet, ContainerResult, Target, ResourceInstance, Future, Array[Boltlib::PlanResult], Hash[String, Boltlib::PlanResult]]
type PlanResult = Boltlib::PlanResult
`

func makeTypes() types {
	define := func(name string, native value.Native, derived, functions []string) *value.ObjectType {
		t := value.DeclareObjectType(name)
		var attributes, calls value.HashBuilder
		for _, a := range derived {
			attributes.Put(value.String(a), value.NewHash(
				value.Entry{Key: value.String("type"), Value: value.AnyType{}},
				value.Entry{Key: value.String("kind"), Value: value.String(value.KindDerived)}))
		}
		callable := value.NewCallableType(nil, nil, nil)
		for _, f := range functions {
			calls.Put(value.String(f), callable)
		}
		init := value.NewHash(
			value.Entry{Key: value.String("attributes"), Value: attributes.Build()},
			value.Entry{Key: value.String("functions"), Value: calls.Build()})
		if native.Elements != nil {
			init = init.With(value.String("parent"), value.NewIterableType(value.AnyType{}))
		}
		if err := t.Define(init); err != nil {
			panic(err) // the type descriptions below are valid
		}
		t.SetNative(native)
		return t
	}
	t := types{
		target: define("Target", value.Native{New: newTarget, Data: targetData},
			[]string{"uri", "name", "safe_name", "target_alias", "config", "vars", "facts", "features", "plugin_hooks", "resources"},
			[]string{"host", "password", "port", "protocol", "transport", "transport_config", "user"}),
		result: define("Result", value.Native{New: newResult, Data: resultData},
			[]string{"target", "value"},
			[]string{"error", "message", "sensitive", "action", "status", "to_data", "ok", "[]"}),
		applyResult: define("ApplyResult", value.Native{Data: resultData},
			[]string{"report", "target", "error", "catalog"},
			[]string{"ok", "message", "action", "to_data", "value"}),
		resultSet: define("ResultSet", value.Native{New: newResultSet, Data: resultSetData, Elements: elements},
			[]string{"results"},
			[]string{"count", "empty", "error_set", "ok_set", "filter_set", "find", "first", "names", "ok", "targets", "to_data", "[]"}),
		future: define("Future", value.Native{Data: futureData, Text: futureText}, nil, []string{"state"}),
		containerResult: define("ContainerResult", value.Native{New: newContainerResult, Data: containerData},
			[]string{"value"},
			[]string{"error", "ok", "status", "stdout", "stderr", "to_data", "[]"}),
		resource: define("ResourceInstance", value.Native{New: newResource, Data: resourceData, Text: resourceText},
			[]string{"target", "type", "title", "state", "desired_state", "events"},
			[]string{"add_event", "set_state", "overwrite_state", "set_desired_state", "overwrite_desired_state", "reference", "[]"}),
	}
	t.targetInit, t.resourceInit = targetInit(), resourceInit(t.target)
	return t
}
