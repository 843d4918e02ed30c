// SPDX-License-Identifier: Apache-2.0

package question

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
)

// Examples for hints.
const (
	durationExample  = `duration("30s")`
	timestampExample = `timestamp("2026-01-31T12:00:00Z")`
	onlyFields       = "only phase and labels have fields"
	missingHint      = "a lifecycle without the value does not match; has() is for phases and labels, " +
		"as in has(phase.startup)"
)

// collectionHint shows what a question can do with a list or map.
func collectionHint(f *Field) string {
	if f.Type == Map {
		return `write labels["app"] == "web" or "app" in labels`
	}
	return `write images.exists(i, i.contains("nginx")) or "nginx:1.29" in images`
}

// signs has the operators that questions lack as they are written.
var signs = map[string]string{
	operators.Multiply: "*", operators.Divide: "/", operators.Modulo: "%", operators.Negate: "-",
}

// unsupported describes an operator or a function that questions lack, or that has other operands.
func unsupported(name string) string {
	if sign := signs[name]; sign != "" {
		return "the operator " + sign + " is not supported"
	}
	if sign := operatorSigns[name]; sign != "" {
		return "the operator " + sign + " is not supported here"
	}
	for _, known := range append(functionNames, macroNames...) {
		if name == known {
			return name + " is not supported in this form"
		}
	}
	return "the function " + name + " is not supported"
}

// wayOut returns a hint for unsupported, or "".
func wayOut(name string) string {
	switch name {
	case operators.Has:
		return `write has(phase.startup), has(labels.app) or "app" in labels`
	case operators.Exists, operators.All:
		return `write images.exists(i, i.contains("nginx"))`
	case operators.Add, operators.Subtract:
		return `write + and - with times and durations, as in now - duration("1h")`
	case operators.Map, operators.Filter, operators.ExistsOne:
		return "lists have exists, all and size"
	case "lowerAscii", "upperAscii", "lower", "upper", "toLower", "toLowerCase":
		return `to ignore case, write name.matches("(?i)web")`
	case overloads.TypeConvertInt, overloads.TypeConvertString, overloads.TypeConvertDyn, "double", "uint":
		return "there are no conversions"
	}
	near := nearest(name, append(functionNames, macroNames...))
	if near == "" {
		return ""
	}
	return "did you mean " + near + "?"
}
