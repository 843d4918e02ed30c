// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
)

// The bounds of a question.
const (
	// MaxText bounds its text, in bytes.
	MaxText = 4096
	// MaxNodes bounds the nodes of its syntax tree.
	MaxNodes = 256
	// MaxPattern bounds a regular expression, in bytes.
	MaxPattern = 512
	// maxDepth bounds the nesting.
	maxDepth = 48
	// maxInner bounds the nesting of lists and maps.
	maxInner = 6
	// maxProgram bounds a compiled regular expression, in instructions.
	maxProgram = 2048
)

// operatorSigns has the operators of a question as they are written. Plus and minus take times only.
var operatorSigns = map[string]string{
	operators.LogicalAnd: "&&", operators.LogicalOr: "||", operators.LogicalNot: "!", operators.Conditional: "?:",
	operators.Equals: "==", operators.NotEquals: "!=", operators.In: "in", operators.Index: "[]",
	operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">", operators.GreaterEquals: ">=",
	operators.Add: "+", operators.Subtract: "-",
}

// functionNames has the functions of a question.
var functionNames = []string{
	overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches, overloads.Size,
	overloads.TypeConvertDuration, overloads.TypeConvertTimestamp,
}

// macroNames has the macros of a question.
var macroNames = []string{operators.Has, operators.Exists, operators.All}

// environment is the part of CEL that questions may use, and the fields.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	registry, err := celtypes.NewRegistry()
	if err != nil {
		return nil, err
	}
	subset := &env.LibrarySubset{IncludeMacros: macroNames}
	functions := append([]string{operators.NotStrictlyFalse}, functionNames...)
	for name := range operatorSigns {
		if name != operators.Add && name != operators.Subtract {
			functions = append(functions, name)
		}
	}
	for _, name := range functions {
		subset.IncludeFunctions = append(subset.IncludeFunctions, &env.Function{Name: name})
	}
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.CustomTypeProvider(provider{registry}),
		cel.HomogeneousAggregateLiterals(),
		cel.ParserExpressionSizeLimit(MaxText), cel.ParserRecursionLimit(maxDepth),
		cel.Variable(now, cel.TimestampType),
	}
	for _, name := range objects {
		options = append(options, cel.Variable(name, cel.ObjectType(typePrefix+name)))
	}
	for name, f := range byName {
		if name != reserved && !strings.Contains(name, ".") {
			options = append(options, cel.Variable(name, types[f.Type]))
		}
	}
	return cel.NewCustomEnv(append(options, sums()...)...)
})

// typePrefix begins the names of the types of objects. They are objects since has() needs one: a map
// would accept any name, and a variable for each phase would accept no has().
const typePrefix = "lifeline."

// objectOf returns the object with a type.
func objectOf(typeName string) (object string, is bool) {
	object, is = strings.CutPrefix(typeName, typePrefix)
	return object, is && isObject(object)
}

// provider adds the types of objects to those of CEL.
type provider struct{ *celtypes.Registry }

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*celtypes.Type, bool) {
	if _, is := objectOf(name); is {
		return celtypes.NewTypeTypeWithParam(celtypes.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if object, is := objectOf(name); is {
		return phaseNames(object), true
	}
	return p.Registry.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. The value of the object is a *Lifecycle.
func (p provider) FindStructFieldType(name, field string) (*celtypes.FieldType, bool) {
	object, is := objectOf(name)
	if !is {
		return p.Registry.FindStructFieldType(name, field)
	}
	f, ok := byName[object+"."+field]
	if !ok {
		return nil, false
	}
	value := func(target any) any {
		l, ok := target.(*Lifecycle)
		if !ok {
			return nil
		}
		return f.value(l)
	}
	return &celtypes.FieldType{
		Type:  types[f.Type],
		IsSet: func(target any) bool { return value(target) != nil },
		GetFrom: func(target any) (any, error) {
			if v := value(target); v != nil {
				return v, nil
			}
			return nil, fmt.Errorf("no %s", f.Name)
		},
	}, true
}
