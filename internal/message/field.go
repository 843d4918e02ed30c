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
func cleanField(text string, _ level) string {
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

// cleanFields keeps the field errors of a list: path, kind of error, value and detail. It ends before
// the first part with an unknown form, since the rest could be a quoted value.
func cleanFields(text string, l level) string { return fields(text, l, false) }

// cleanFieldsOnly is cleanFields without any value.
func cleanFieldsOnly(text string, l level) string { return fields(text, l, true) }

// fields is cleanFields. Of a confidential object, no value is kept.
func fields(text string, l level, confidential bool) string {
	text, list := strings.CutPrefix(text, "[")
	if rest, found := strings.CutPrefix(text, ": "); found {
		if confidential {
			return Withheld
		}
		return ": " + l.ofRefusal().clean(rest) // an error of the whole object
	}
	var kept []string
	whole := false
	for len(kept) < maxParts && !whole {
		var one string
		one, text, whole = l.fieldError(text, !list && len(kept) == 0, confidential)
		if one == "" {
			break
		}
		kept = append(kept, one)
		if rest, more := strings.CutPrefix(text, ", "); more {
			text, whole = rest, false
			continue
		}
		break
	}
	out := strings.Join(kept, ", ")
	if (!whole || text == cutOff) && !strings.HasSuffix(out, Withheld) {
		out = strings.TrimSpace(out + " " + Withheld)
	}
	return out
}

// withValue are the types of field errors with the invalid value before the detail.
var withValue = []string{
	"Not found", "Duplicate value", "Invalid value", "Unsupported value", "Too many", "Too few", "Too short",
	"Invalid type",
}

// fieldError parses one "path: Kind of error: value: detail" at the beginning of text. It keeps a
// harmless value, and a detail that is known or can be masked. whole reports that nothing but a value
// was removed. An error that is alone in the text may have its detail after a value of any form, such
// as a Go struct.
func (l level) fieldError(text string, alone, confidential bool) (one, rest string, whole bool) {
	field := pathForm.FindString(text)
	rest, found := strings.CutPrefix(text[len(field):], ": ")
	if field == "" || !found {
		return "", text, false
	}
	i := slices.IndexFunc(fieldErrors, func(kind string) bool { return strings.HasPrefix(rest, kind) })
	if i < 0 {
		return "", text, false
	}
	kind := fieldErrors[i]
	one, rest = cleanField(field, l)+": "+kind, rest[len(kind):]
	parted, valued := !slices.Contains(withValue, kind), false
	if after, found := strings.CutPrefix(rest, ": "); found {
		if quoted := valueIn(after); quoted != "" {
			rest, parted, valued = after[len(quoted):], true, true
			if !confidential && l.harmless(field, quoted) {
				one, valued = one+": "+quoted, false
			}
		}
	}
	if ends(rest) {
		return one, strings.TrimSuffix(rest, "]"), true
	}
	if after, found := strings.CutPrefix(rest, ": "); found {
		if confidential {
			l = l.strict()
		}
		if d, rest, found := l.detailIn(after); found {
			return one + ": " + d, strings.TrimSuffix(rest, "]"), !strings.Contains(d, Withheld)
		}
		if parted && l.Refused != nil {
			d, rest := l.ownDetail(after)
			if valued {
				one += ": " + mark
			}
			return one + ": " + d, rest, !strings.HasSuffix(d, Withheld)
		}
	}
	if alone && !laterForm.MatchString(rest) {
		if d := lastDetail(rest); d != "" {
			return one + ": " + d, "", false
		}
	}
	return one, rest, false
}

// ownDetail masks the unknown detail at the beginning of text: its first line, up to the next field
// error. Other lines compare objects.
func (l level) ownDetail(text string) (clean, rest string) {
	if next := laterForm.FindStringIndex(text); next != nil {
		text, rest = text[:next[0]], text[next[0]:]
	}
	text, lines, more := strings.Cut(strings.TrimSuffix(text, "]"), "\n")
	clean = l.ofRefusal().text(text)
	if more && strings.TrimSpace(lines) != "" {
		clean = strings.TrimSuffix(clean, " "+Withheld) + " " + Withheld
	}
	return clean, rest
}

// lastDetail returns the longest known detail at the end of text, or "".
func lastDetail(text string) string {
	for range maxParts {
		_, rest, found := strings.Cut(text, ": ")
		if !found || rest == "" {
			break
		}
		if out, ok := known[detail].match(rest, level{Cleaner: new(Cleaner)}); ok {
			return out
		}
		text = rest
	}
	return ""
}

// ends reports whether a field error ends at the beginning of text.
func ends(text string) bool {
	return text == "" || text == "]" || text == cutOff || nextForm.MatchString(text)
}

// cutOff is the end of a clean list that lacks a part.
const cutOff = " " + Withheld

// nextForm matches the beginning of the next field error, and laterForm one anywhere.
var (
	nextForm  = regexp.MustCompile(`^` + next)
	laterForm = regexp.MustCompile(next)
	next      = `, ` + path + `: (?:` + strings.Join(fieldErrors, "|") + `)`
)

// detailIn returns the known detail at the beginning of text, without its confidential parts.
func (l level) detailIn(text string) (clean, rest string, found bool) {
	for end := range len(text) + 1 {
		if c := text[end:]; c != "" && !strings.ContainsRune(",] ", rune(c[0])) || !ends(c) {
			continue
		}
		if end == 0 || end > maxInput {
			break
		}
		if out, ok := known[detail].match(text[:end], l.ofRefusal()); ok {
			return out, text[end:], true
		}
	}
	return "", text, false
}

// cleanTyped cleans a server-side apply error about one field.
func cleanTyped(text string, l level) string {
	// Several errors have a line each; only the first is kept.
	text, several := strings.CutPrefix(text, "errors:\n  ")
	field := pathForm.FindString(text)
	if field == "" {
		return Withheld
	}
	if rest, found := strings.CutPrefix(text[len(field):], ": "); found && !several {
		if d, _, found := l.detailIn(rest); found {
			return cleanField(field, l) + ": " + d
		}
	}
	return cleanField(field, l) + ": " + Withheld
}

// cleanConflicts cleans a list of fields with their managers.
func cleanConflicts(text string, l level) string {
	const conflict = "conflict with "
	parts := strings.SplitN(text, ", "+conflict, maxParts)
	for i, part := range parts {
		if i > 0 {
			part = conflict + part
		}
		parts[i] = l.clean(part)
	}
	return strings.Join(parts, ", ")
}
