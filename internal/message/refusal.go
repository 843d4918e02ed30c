// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strings"
)

// Status is what the API server answers to a request that it refuses
// (metav1.Status).
type Status struct {
	// Resource is the plural resource that was asked for, such as "secrets"; empty
	// if that is not known.
	Resource string
	// Kind and Name are those of the Status' details. Kind may be a resource.
	Kind, Name string
	Message    string
	Causes     []Cause
}

// Cause is one of the causes in a Status' details.
type Cause struct {
	// Reason is a metav1.CauseType, such as "FieldValueInvalid".
	Reason string
	// Field is the path of the field that is at fault, if it is one.
	Field   string
	Message string
}

// maxCauses bounds the causes that a sentence names.
const maxCauses = 8

// causeWords are the words for the causes that name a field.
var causeWords = map[string]string{
	"FieldValueNotFound":     "Not found",
	"FieldValueRequired":     "Required value",
	"FieldValueDuplicate":    "Duplicate value",
	"FieldValueInvalid":      "Invalid value",
	"FieldValueTypeInvalid":  "Invalid value",
	"FieldValueNotSupported": "Unsupported value",
	"FieldValueForbidden":    "Forbidden",
	"FieldValueTooLong":      "Too long",
	"FieldValueTooMany":      "Too many",
	"FieldValueTooFew":       "Too few",
	"FieldValueTooShort":     "Too short",
	"InternalError":          "Internal error",
}

// Confidential reports whether nothing may be kept of a message about objects of
// this kind: Secrets and ConfigMaps. kind is a kind or a resource, with or without
// subresource and version.
func Confidential(kind string) bool {
	kind, _, _ = strings.Cut(kind, "/")
	switch strings.ToLower(kind) {
	case "secret", "secrets", "secretlist", "configmap", "configmaps", "configmaplist":
		return true
	}
	return false
}

// Refusal returns one sentence about a refused request: its message where that is
// known to be harmless, and else the fields at fault. It is Withheld for Secrets
// and ConfigMaps, and "" for a Status that says nothing. It has at most 1024 bytes.
func Refusal(s Status) string {
	return bounded(refusal(s))
}

func refusal(s Status) string {
	if s.Message == "" && len(s.Causes) == 0 {
		return ""
	}
	if Confidential(s.Resource) || Confidential(s.Kind) {
		return Withheld
	}
	sentence := Clean(s.Message)
	var causes []string
	about, dropped := "", len(s.Causes) > maxCauses
	for _, c := range s.Causes[:min(len(s.Causes), maxCauses)] {
		text, kind, whole := c.sentence()
		dropped = dropped || !whole
		if text != "" && !strings.Contains(sentence, text) {
			causes, about = append(causes, text), kind
		}
	}
	if len(causes) == 0 {
		return sentence
	}
	all := strings.Join(causes, ", ")
	if dropped {
		all += " " + Withheld
	}
	switch about {
	case "field":
		return subject(s.Message) + all
	case "conflict":
		return "Apply failed: " + all
	}
	if strings.Contains(sentence, Withheld) {
		return sentence
	}
	return sentence + " " + all
}

var (
	invalidForm = regexp.MustCompile(
		`^(?:` + coreKind + `|[A-Z][A-Za-z0-9]*\.[a-z0-9.-]+) "` + object + `" is invalid: `,
	)
	webhookForm = regexp.MustCompile(`^admission webhook "` + object + `" denied the request: `)
)

// subject is what precedes the fields at fault: the kind and name of an invalid
// object, or the webhook that refused it.
func subject(text string) string {
	if head := invalidForm.FindString(text); head != "" {
		return head
	}
	return webhookForm.FindString(text) + "invalid fields: "
}

// sentence is what may be kept of a cause, and what it is about: a "field", a
// "conflict" with another manager, or a disruption "budget". Other causes are
// whatever a webhook or a server wrote. whole says that nothing was dropped.
func (c Cause) sentence() (text, about string, whole bool) {
	if len(c.Field) > maxInput || len(c.Message) > maxInput {
		return "", "", false
	}
	field := pathForm.FindString(c.Field)
	if field != c.Field {
		field = ""
	}
	field = cleanField(field, 0)
	word, invalid := causeWords[c.Reason]
	switch {
	case invalid && field != "":
		text = field + ": " + word
		rest := strings.TrimPrefix(c.Message, word)
		if d := detail(": "+strings.TrimPrefix(rest, ": "), false, true); d != "" {
			text += ": " + d
			rest = strings.TrimSuffix(rest, ": "+d)
		}
		return text, "field", rest == ""
	case c.Reason == "FieldManagerConflict":
		text, about = Clean(c.Message+": "+c.Field), "conflict"
	case c.Reason == "DisruptionBudget":
		text, about = Clean(c.Message), "budget"
	}
	if text == "" || strings.Contains(text, Withheld) {
		return "", "", false
	}
	return text, about, true
}
