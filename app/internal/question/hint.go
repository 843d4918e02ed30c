// SPDX-License-Identifier: Apache-2.0

package question

import (
	"cmp"
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
)

// Examples for hints.
const (
	durationExample  = `duration("30s")`
	timestampExample = `timestamp("2026-01-31T12:00:00Z")`
	onlyFields       = "only phase, began, ended and labels have fields"
	missingHint      = "a lifecycle without the value does not match; has() is for phases, began, ended and labels, " +
		"as in has(phase.startup)"
	differenceExample = "ended.readiness - began.pull"
	textHint          = `write a field with a text, such as namespace, or labels["app"]`
	lengthHint        = "write a duration, such as phase.pull, or a difference of times, as in " + differenceExample
	numberHint        = "write a duration or a count, such as phase.pull or restarts, or a difference of times, as in " +
		differenceExample
)

// collectionHint shows what a question can do with a list or map.
func collectionHint(f *Field) string {
	if f.Type == Map {
		return "write " + f.Name + `["app"] == "web" or "app" in ` + f.Name
	}
	return "write " + f.Name + `.exists(i, i.contains("nginx")) or "nginx:1.29" in ` + f.Name
}

// objectHint shows the use of an object that stands alone.
func objectHint(name string) string {
	switch name {
	case began:
		return "use one of its fields, such as began.pull; the start of the lifecycle is start"
	case ended:
		return "use one of its fields, such as ended.readiness; the end of the lifecycle is end"
	}
	return "use one of its fields, such as phase.startup"
}

// phaseHint returns the way out for an unknown field of an object.
func phaseHint(name, field string) string {
	switch {
	case field == startup && name == began:
		return "the startup begins with the lifecycle: use start"
	case field == startup && name == ended:
		return "the startup ends with the readiness: use ended.readiness"
	}
	if near := nearest(field, phaseNames(name)); near != "" {
		return "did you mean " + name + "." + near + "?"
	}
	return "phases are " + strings.Join(phaseNames(name), ", ")
}

// edges has the words that newcomers try for the start or the end of a phase, and the object of each.
var edges = map[string]string{
	"start": began, "started": began, "starts": began, "begin": began, "begins": began, "begun": began, began: began,
	"end": ended, "ends": ended, "finish": ended, "finished": ended, "stop": ended, "stopped": ended, "until": ended,
	"completed": ended, "done": ended, ended: ended,
}

// step returns the field with an edge of a phase, or "".
func step(edge, phase string) string {
	object := edges[strings.ToLower(edge)]
	switch name := object + "." + phase; {
	case byName[name] != nil:
		return name
	case phase == startup && object == began:
		return "start"
	case phase == startup && object == ended:
		return ended + ".readiness"
	}
	return ""
}

// stepHint returns a hint for an edge and a phase in either order, as in "end.pull", or otherwise.
func stepHint(name, field, otherwise string) string {
	if meant := cmp.Or(step(name, field), step(field, name)); meant != "" {
		return "did you mean " + meant + "?"
	}
	return otherwise
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
		return `write has(phase.startup), has(began.pull), has(labels.app) or "app" in labels`
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
