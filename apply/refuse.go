package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A resourceError is the error of one resource of a catalog. Prepare joins these errors.
type resourceError struct {
	Resource *catalog.Resource
	where    string
	Err      error
}

func (e *resourceError) Error() string {
	return fmt.Sprintf("%s%s: %v", e.Resource.Ref, e.where, e.Err)
}

// Unwrap returns the error without the resource.
func (e *resourceError) Unwrap() error { return e.Err }

// An unknownTypesError is the error for resources of types that bolt does not apply.
type unknownTypesError struct {
	Resources []*catalog.Resource // in the order of the catalog
}

func (e *unknownTypesError) Error() string {
	var names []string
	for _, r := range e.Resources {
		names = append(names, r.Type)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	noun := "the type"
	if len(names) > 1 {
		noun = "the types"
	}
	return fmt.Sprintf("bolt cannot apply resources of %s %s. An installed Puppet can: use --engine puppet", noun, strings.Join(names, ", "))
}

// A Refusal is a reason for which a catalog cannot be applied.
type Refusal struct {
	Resource *catalog.Resource // nil for the catalog as a whole
	// UnknownType is set if bolt does not apply the type of the resource.
	UnknownType bool
	Param       string // the parameter that is refused; "" if the reason is not about one
	Err         error  // without the resource
}

// Refusals returns the reasons for which a catalog cannot be applied with some types. It neither reads nor changes a
// host.
func Refusals(c *catalog.Catalog, types map[string]resource.Type) (list []Refusal) {
	_, err := Prepare(c, resource.NewHost(), Options{Types: types})
	errs := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		if unknown, is := errors.AsType[*unknownTypesError](err); is {
			for _, r := range unknown.Resources {
				list = append(list, Refusal{Resource: r, UnknownType: true, Err: err})
			}
			continue
		}
		if err == nil {
			continue
		}
		refusal := Refusal{Err: err}
		if of, is := errors.AsType[*resourceError](err); is {
			refusal.Resource, refusal.Err = of.Resource, of.Err
		}
		if param, is := errors.AsType[*resource.ParamError](err); is {
			refusal.Param = param.Param
		}
		list = append(list, refusal)
	}
	return list
}

// Refuses returns the reason for which one of types rejects a value of a parameter; nil if the type accepts it. It is
// for parameters such as provider, whose values do not depend on other parameters.
func Refuses(types map[string]resource.Type, typ, param, value string) error {
	if types[typ] == nil {
		return nil
	}
	var c catalog.Catalog
	err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: typ, Title: anyTitle}, Kind: catalog.KindType, Params: ordered.Of(param, value)})
	if err != nil {
		return err
	}
	for _, refusal := range Refusals(&c, types) {
		if refusal.Param == param {
			return refusal.Err
		}
	}
	return nil
}

// anyTitle is a title that every type accepts as a name, a path and a command.
const anyTitle = "/bin/true"
