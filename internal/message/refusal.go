// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"slices"
	"strings"
)

// Status is the API server's response to a refused request (metav1.Status).
type Status struct {
	// Resource is the plural resource of the request, such as "secrets"; empty if unknown.
	Resource string
	// Kind and Name come from the details of the Status. Kind may be a resource.
	Kind, Name string
	Message    string
	Causes     []Cause
}

// Cause is an entry of the causes in the details of a Status.
type Cause struct {
	// Reason is a metav1.CauseType, such as "FieldValueInvalid".
	Reason string
	// Field is usually the path of the invalid field.
	Field   string
	Message string
}

// maxCauses limits the causes in a sentence.
const maxCauses = 8

// causeWords maps the causes about a field to the words of API validation.
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

// Confidential reports whether messages about objects of this kind must be removed completely. That
// is so for Secrets and ConfigMaps. kind is a kind or a resource, with or without subresource and
// version.
func Confidential(kind string) bool {
	kind, _, _ = strings.Cut(kind, "/")
	return slices.ContainsFunc(confidentialKinds, func(one string) bool { return strings.EqualFold(one, kind) })
}

var confidentialKinds = []string{"secret", "secrets", "secretlist", "configmap", "configmaps", "configmaplist"}

// Refusal returns one sentence about a refused request: the clean message, or the invalid fields.
// For Secrets and ConfigMaps, it returns only the fields and the kinds of errors, or Withheld. It
// returns "" for an empty Status, and at most 1024 bytes. Of the functions of a Cleaner it uses Refused
// and Shown.
func (c *Cleaner) Refusal(s Status) string {
	c = &Cleaner{Text: c.Refused, Refused: c.Refused, Shown: c.Shown}
	return c.bounded(c.refusal(s))
}

// Refusal is Refusal of a strict Cleaner.
func Refusal(s Status) string { return new(Cleaner).Refusal(s) }

func (c *Cleaner) refusal(s Status) string {
	if s.Message == "" && len(s.Causes) == 0 {
		return ""
	}
	confidential := Confidential(s.Resource) || Confidential(s.Kind)
	if confidential {
		c = new(Cleaner)
	}
	sentence := c.Clean(s.Message)
	if confidential {
		sentence = Withheld
	}
	var causes []string
	about, dropped := "", len(s.Causes) > maxCauses
	for _, cause := range s.Causes[:min(len(s.Causes), maxCauses)] {
		text, kind, whole := c.cause(cause, confidential)
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

// subject returns the beginning of a sentence about invalid fields: the kind and name of the
// object, or the webhook.
func subject(text string) string {
	if head := invalidForm.FindString(text); head != "" {
		return head
	}
	return webhookForm.FindString(text) + "invalid fields: "
}

// cause returns the harmless part of a cause, and its topic: a "field", a "conflict" with
// another manager, or a disruption "budget". A cause of any other type can contain arbitrary text
// of a webhook or a server. whole reports that nothing was removed.
func (c *Cleaner) cause(of Cause, confidential bool) (text, about string, whole bool) {
	if len(of.Field) > maxInput || len(of.Message) > maxInput {
		return "", "", false
	}
	field := pathForm.FindString(of.Field)
	if field != of.Field {
		field = ""
	}
	word, invalid := causeWords[of.Reason]
	switch {
	case invalid && field != "":
		body := of.Message
		own := !slices.ContainsFunc(fieldErrors, func(kind string) bool { return strings.HasPrefix(body, kind) })
		if own && c.Refused != nil {
			return cleanField(field, level{}) + ": " + word + ": " + c.level(body).ofRefusal().text(body), "field", true
		}
		if own {
			body = word + " " + body
		}
		text, rest, whole := c.level(body).fieldError(field+": "+body, true, confidential)
		text, cut := strings.CutSuffix(text, " "+Withheld)
		return text, "field", whole && !cut && rest == ""
	case confidential:
		return "", "", false
	case of.Reason == "FieldManagerConflict":
		text, about = c.Clean(of.Message+": "+of.Field), "conflict"
	case of.Reason == "DisruptionBudget":
		text, about = c.Clean(of.Message), "budget"
	}
	if text == "" || strings.Contains(text, Withheld) {
		return "", "", false
	}
	return text, about, true
}
