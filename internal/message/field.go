// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"slices"
	"strings"
)

// fieldErrors are the types of field errors, in the words of API validation.
var fieldErrors = []string{
	"Not found", "Required value", "Duplicate value", "Invalid value", "Unsupported value", "Forbidden",
	"Too long", "Too many", "Too few", "Too short", "Internal error", "Invalid type",
}

// details are validation messages that do not quote a value.
var details = []string{
	"field is immutable",
	"field is immutable when `selector` is updated",
	"cannot set both value and valueFrom",
	"field not declared in schema",
	"may not be specified when `value` is not empty",
	"may not be set for update",
	"must be greater than or equal to 0",
	"must be greater than zero",
	"must be non-negative",
	"must be unique",
	"must validate one and only one schema (oneOf)",
	"may not be used to change the container's image",
	"`selector` does not match template `labels`",
	"pod updates may not change fields other than `spec.containers[*].image`",
	"pod updates may not add or remove containers",
	"updates to statefulset spec for fields other than",
	"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
	"is immutable",
}

// keyed are the maps with harmless keys in brackets.
var keyed = []string{"annotations", "labels", "matchLabels", "nodeSelector", "limits", "requests", "hard"}

var (
	pathForm = regexp.MustCompile(`^` + path)
	bracket  = regexp.MustCompile(brackets)
	// index matches brackets without a confidential value. key matches the key of a map.
	index = regexp.MustCompile(`^\[(?:[0-9]+|name="` + name + `"|…)\]$`)
	key   = regexp.MustCompile(`^\[` + name + `\]$`)
)

// cleanField returns the path of a field. It removes the values of sets and list maps from
// brackets.
func cleanField(text string, _ int) string {
	var b strings.Builder
	end := 0
	for _, at := range bracket.FindAllStringIndex(text, -1) {
		before, in := text[end:at[0]], text[at[0]:at[1]]
		b.WriteString(before)
		named := slices.ContainsFunc(keyed, func(k string) bool { return strings.HasSuffix(before, k) })
		if index.MatchString(in) || named && key.MatchString(in) {
			b.WriteString(in)
		} else {
			b.WriteString("[…]")
		}
		end = at[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

// cleanFields keeps the field errors before the first value in a list. In a value or after it, any
// text could look like a field error.
func cleanFields(text string, depth int) string {
	text, list := strings.CutPrefix(text, "[")
	if rest, found := strings.CutPrefix(text, ": "); found {
		return ": " + clean(rest, depth) // an error of the whole object
	}
	var kept []string
	for len(kept) < maxParts {
		one, rest, ended := fieldError(text, list)
		if one == "" {
			break
		}
		kept = append(kept, one)
		if text = rest; ended {
			text = strings.TrimPrefix(text, ", ")
			continue
		}
		break
	}
	out := strings.Join(kept, ", ")
	if out == "" || text != "" && text != "]" {
		out = strings.TrimSpace(out + " " + Withheld)
	}
	return out
}

// fieldError parses one "path: Kind of error", with its detail if known. ended reports that rest
// contains nothing more of this error. In a list, the end of the text can belong to another error.
func fieldError(text string, list bool) (one, rest string, ended bool) {
	field := pathForm.FindString(text)
	if field == "" {
		return "", text, false
	}
	rest, found := strings.CutPrefix(text[len(field):], ": ")
	if !found {
		return "", text, false
	}
	for _, kind := range fieldErrors {
		if !strings.HasPrefix(rest, kind) {
			continue
		}
		one, rest = cleanField(field, 0)+": "+kind, rest[len(kind):]
		if d := detail(rest, true, !list); d != "" {
			one += ": " + d
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, ": "), d)
		}
		return one, rest, rest == "" || rest == "]" || strings.HasPrefix(rest, ", ")
	}
	return "", text, false
}

// detail returns the known detail at the start or the end of text, where begins and ends allow it.
func detail(text string, begins, ends bool) string {
	for _, d := range details {
		if begins && strings.HasPrefix(text, ": "+d) || ends && strings.HasSuffix(text, ": "+d) {
			return d
		}
	}
	return ""
}

// cleanTyped cleans a server-side apply error about one field.
func cleanTyped(text string, _ int) string {
	// Several errors have a line each; only the first is kept.
	text, several := strings.CutPrefix(text, "errors:\n  ")
	field := pathForm.FindString(text)
	if field == "" {
		return Withheld
	}
	if d := detail(text[len(field):], true, false); d != "" && !several {
		return cleanField(field, 0) + ": " + d
	}
	return cleanField(field, 0) + ": " + Withheld
}

// cleanConflicts cleans a list of fields with their managers.
func cleanConflicts(text string, depth int) string {
	const conflict = "conflict with "
	parts := strings.SplitN(text, ", "+conflict, maxParts)
	for i, part := range parts {
		if i > 0 {
			part = conflict + part
		}
		parts[i] = clean(part, depth)
	}
	return strings.Join(parts, ", ")
}
