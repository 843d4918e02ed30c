// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	// quotedForm matches a text in Go quotes, and plainForm a number, a boolean or null.
	quotedForm = regexp.MustCompile(`^"(?:[^"\\\n]|\\.)*"`)
	plainForm  = regexp.MustCompile(`^(?:` + number + `|true|false|null)`)
	// amountForm matches a quoted number, quantity or boolean.
	amountForm = regexp.MustCompile(`^"(?:` + quantity + `|true|false)"$`)
	// nameForm matches a quoted name or image reference.
	nameForm = regexp.MustCompile(`^"[A-Za-z0-9][A-Za-z0-9._:/+-]*(?:@sha[0-9]+:[0-9a-f]+)?"$`)
)

// valueIn returns the value at the beginning of a field error's text, in the form of API validation:
// a quoted text, a number, a boolean, JSON, or the mark of a removed value. It returns "" for another
// form.
func valueIn(text string) string {
	value := ""
	switch {
	case text == "":
		return ""
	case strings.HasPrefix(text, mark):
		value = mark
	case text[0] == '"':
		value = quotedForm.FindString(text)
	case text[0] == '{' || text[0] == '[':
		dec := json.NewDecoder(strings.NewReader(text))
		var skipped json.RawMessage
		if dec.Decode(&skipped) == nil {
			value = text[:dec.InputOffset()]
		}
	default:
		value = plainForm.FindString(text)
	}
	if rest := text[len(value):]; strings.HasPrefix(rest, ": ") || ends(rest) {
		return value
	}
	return ""
}

// harmless reports whether the value of a field may be shown: a number, a quantity or a boolean, the name
// of an image or of another object, or a text of a field that shows its values. Nothing of a field with
// confidential content is.
func (c *Cleaner) harmless(field, value string) bool {
	names := element.FindAllString(strings.ReplaceAll(field, "[]", ""), -1)
	if len(value) > maxValue || slices.ContainsFunc(names, ConfidentialField) {
		return false
	}
	if plainForm.FindString(value) == value || amountForm.MatchString(value) {
		return true
	}
	if slices.Contains(named, names[len(names)-1]) && nameForm.MatchString(value) {
		return true
	}
	return c.Shown != nil && value[0] == '"' && c.Shown(bracket.ReplaceAllString(field, "")) &&
		c.Refused != nil && c.Refused(value) == value
}

// named are the fields with the name of an image or of an object.
var named = []string{"claimName", "image", "name", "secretName"}

// maxValue limits a shown value, in bytes.
const maxValue = 253

var element = regexp.MustCompile(`[A-Za-z0-9_$-]+`)

// confidentialNames are the fields whose values may be secret, at any depth.
var confidentialNames = []string{
	"annotations", "args", "binaryData", "command", "config", "data", "env", "headers", "httpHeaders",
	"key", "parameters", "patch", "stringData", "values",
}

// ConfidentialField reports whether the values below a field of that name may be secret.
func ConfidentialField(name string) bool {
	lower := strings.ToLower(name)
	for _, part := range []string{
		"auth", "cert", "code", "credential", "encrypted", "env", "key", "pass", "pin", "pwd", "secret", "token",
	} {
		if strings.Contains(lower, part) && name != "secretName" {
			return true
		}
	}
	return slices.Contains(confidentialNames, name)
}
