// SPDX-License-Identifier: Apache-2.0

// Package failure formats errors for the kit's spans.
package failure

import (
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kube-lifeline/lifeline/internal/message"
)

// markers introduce quotations of validation, a webhook or a decoder. They matter for errors that
// repeat the API server's text without wrapping its error.
var markers = []string{
	" is invalid: ",
	"Invalid value: ",
	"Unsupported value: ",
	"Duplicate value: ",
	"denied the request: ",
	"denied request: ",
	"cannot be handled as a",
	"failed to create typed patch object",
}

// minRaw is the minimum length of a text for a search in another text, in bytes.
const minRaw = 8

// Text returns an error's text for a span. It removes confidential parts of API server errors,
// which may quote the data of a Secret. The operator's own text stays unchanged.
func Text(err error) string {
	text := err.Error()
	var sentences []string
	for _, refused := range refusals(err, nil) {
		raw, status := refused.Error(), refused.Status()
		sentence := message.Refusal(statusOf(&status))
		mark := "\x00" + strconv.Itoa(len(sentences)) + "\x00"
		marked := strings.ReplaceAll(text, raw, mark)
		switch {
		case raw == "":
			continue
		case text == raw:
			return sentence
		case len(raw) < minRaw, marked == text && !slices.Contains(sentences, sentence):
			return sentence // quoted or truncated: it cannot be separated from the rest
		}
		text, sentences = marked, append(sentences, sentence)
	}
	for _, marker := range markers {
		if own, _, found := strings.Cut(text, marker); found {
			text = own + marker + message.Withheld
		}
	}
	for i, sentence := range sentences {
		text = strings.ReplaceAll(text, "\x00"+strconv.Itoa(i)+"\x00", sentence)
	}
	return text
}

// refusal is an error of the API server.
type refusal interface {
	error
	apierrors.APIStatus
}

// refusals appends the API server errors in err's tree to a list, depth first.
func refusals(err error, to []refusal) []refusal {
	if r, ok := err.(refusal); ok { //nolint:errorlint // wrapped errors are visited below
		return append(to, r)
	}
	switch e := err.(type) { //nolint:errorlint // wrapped errors are visited below
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return refusals(inner, to)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			to = refusals(inner, to)
		}
	case utilerrors.Aggregate:
		for _, inner := range e.Errors() {
			to = refusals(inner, to)
		}
	}
	return to
}

func statusOf(s *metav1.Status) message.Status {
	out := message.Status{Message: s.Message}
	if s.Details == nil {
		return out
	}
	out.Kind = s.Details.Kind
	for _, c := range s.Details.Causes {
		out.Causes = append(out.Causes, message.Cause{Reason: string(c.Type), Field: c.Field, Message: c.Message})
	}
	return out
}
