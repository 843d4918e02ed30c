// SPDX-License-Identifier: Apache-2.0

// Package failure words errors for the kit's spans.
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

// markers begin what validation, a webhook or a decoder quotes, in an error that
// does not wrap the API server's but repeats its text.
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

// minRaw is the shortest text that is searched for in another.
const minRaw = 8

// Text returns an error's text for a span. Of the API server's errors in it, which
// may quote the data of a Secret, only the harmless part is kept. The rest is the
// operator's own text and stays as it is.
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
			return sentence // it is quoted or cut: it cannot be told from the rest
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

// refusals appends the API server's errors that err wraps, in depth, to a list.
func refusals(err error, to []refusal) []refusal {
	if r, ok := err.(refusal); ok { //nolint:errorlint // the wrapped ones follow
		return append(to, r)
	}
	switch e := err.(type) { //nolint:errorlint // the wrapped ones follow
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
