// SPDX-License-Identifier: Apache-2.0

// Package notice sends notices about problems and regressions to other programs: which notices are due, their forms,
// their delivery, and the counts of changes for metrics.
package notice

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Type is the type of a notice, and of its CloudEvent.
type Type string

// The types of notices.
const (
	// Started means that a problem has lasted as long as configured.
	Started Type = typePrefix + "problem.started"
	// Changed means that a problem with a notice of type Started has another category.
	Changed Type = typePrefix + "problem.changed"
	// Resolved means that a problem with a notice of type Started has ended.
	Resolved Type = typePrefix + "problem.resolved"
	// Failed means that a change has ended as failed, or as unfinished with a reason.
	Failed Type = typePrefix + "change.failed"
	// Worse means that something happened to the Pods of a change after its convergence.
	Worse Type = typePrefix + "change.worse"
	// Slower means that a phase got slower by more than chance, or several for one cause.
	Slower Type = typePrefix + "regression.started"
	// SlowerEnded means that a regression with a notice of type Slower has ended.
	SlowerEnded Type = typePrefix + "regression.ended"
)

const typePrefix = "dev.lifeline."

// Types returns all types.
func Types() []Type { return []Type{Started, Changed, Resolved, Failed, Worse, Slower, SlowerEnded} }

// TypeOf returns the type with the short name of a configuration, such as problem.started.
func TypeOf(short string) Type { return Type(typePrefix + short) }

// Short returns the name of the type in a configuration.
func (t Type) Short() string { return strings.TrimPrefix(string(t), typePrefix) }

// Bounds of a notice.
const (
	// maxText bounds a text in bytes, and maxItems a list.
	maxText  = 1024
	maxItems = 8
)

// Notice is one notice about a problem, about a failed change, or about a regression. Its JSON form is the data of the
// CloudEvent. Its texts and lists are bounded, and its texts have no control characters.
type Notice struct {
	// ID is the same after a repetition.
	ID   string    `json:"-"`
	Type Type      `json:"-"`
	Time time.Time `json:"-"`
	// First is the category of the notice of type Started.
	First string `json:"-"`
	// Problem is the problem's ID: all notices about one problem have it. It is "" for a change.
	Problem string `json:"problem,omitempty"`
	// Object is the object with the problem, or the changed one. It is nil for a command.
	Object   *object.Ref `json:"object,omitempty"`
	Category string      `json:"category,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	// Since is the time from which the object lacks its desired state. Before means an earlier, unknown time.
	Since  time.Time `json:"since,omitzero"`
	Before bool      `json:"before,omitempty"`
	// Count is the number of objects with the problem. Objects are the oldest ones.
	Count   int          `json:"count,omitempty"`
	Objects []object.Ref `json:"objects,omitempty"`
	Blamed  *object.Ref  `json:"blamed,omitempty"`
	Image   string       `json:"image,omitempty"`
	// Outcome is that of the change, in a notice about one.
	Outcome span.Outcome `json:"outcome,omitempty"`
	// Cause is the change that led to the problem, or the change of a notice about one.
	Cause *problem.Cause `json:"cause,omitempty"`
	// Regression is the ID of a regression: all notices about it have it. Slower is its worst shift, and Explanation
	// says what that goes with. Count is then the number of workloads.
	Regression  string       `json:"regression,omitempty"`
	Slower      *shift.Shift `json:"slower,omitempty"`
	Explanation string       `json:"explanation,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
}

// key is the same for all notices whose order matters.
func (n *Notice) key() string { return cmp.Or(n.Problem, n.Regression, n.ID) }

// ends reports whether the notice ends the alert of another one.
func (n *Notice) ends() bool { return n.Type == Resolved || n.Type == SlowerEnded }

// about returns a notice about p. id is the ID by which receivers know the problem.
func about(typ Type, id string, p *problem.Problem, now time.Time) Notice {
	of := p.Object
	n := Notice{
		ID: id + "/" + strings.TrimPrefix(typ.Short(), "problem."), Type: typ, Time: now.UTC(),
		First: p.Category, Problem: id, Object: &of, Category: p.Category, Reason: plain(p.Reason),
		Since: p.Since.UTC(), Before: p.Before, Count: p.Count, Objects: first(p.Objects), Blamed: p.Blamed,
		Image: plain(p.Image), Next: plain(p.Next),
	}
	if typ == Changed { // a category may come again
		n.ID += "/" + p.Category + "@" + n.Time.Format(time.RFC3339)
	}
	if p.Cause != nil {
		n.Cause = cleaned(*p.Cause)
	}
	return n
}

// cleaned returns a cause with bounded texts without control characters.
func cleaned(c problem.Cause) *problem.Cause {
	c.Who, c.Command = plain(c.Who), plain(c.Command)
	c.Fields, c.Edits = plains(c.Fields), plains(c.Edits)
	return &c
}

// aboutChange returns a notice about a failed change.
func aboutChange(t *span.Trace, now time.Time) Notice {
	sum := store.Summarize(t, now)
	n := Notice{
		ID: t.ID.String() + "/failed", Type: Failed, Time: now.UTC(), First: sum.Category,
		Category: sum.Category, Reason: plain(sum.Reason), Outcome: sum.Outcome,
		Cause: &problem.Cause{
			TraceID: t.ID.String(), Start: sum.Start.UTC(), Who: plain(cmp.Or(sum.User, sum.Actor)),
			Edits: plains(sum.Edits), Command: plain(sum.Command),
		},
	}
	if sum.Object.Name != "" {
		n.Object, n.Cause.Object = &sum.Object, &sum.Object
	}
	if root := t.Root(); root != nil {
		n.Next = plain(insight.Attribute(root, span.KeyReasonNext))
		if at, err := time.Parse(time.RFC3339Nano, insight.Attribute(root, span.KeyReasonSince)); err == nil {
			n.Since = at.UTC()
		}
	}
	return n
}

// category returns the category of a change's reason, or "".
func category(t *span.Trace) string {
	root := t.Root()
	if root == nil {
		return ""
	}
	return insight.Attribute(root, span.KeyReason)
}

// failed reports whether a finished change has failed, or was refused.
func failed(t *span.Trace) bool {
	return t.Outcome.InVain() || t.Outcome == span.Unfinished && category(t) != ""
}

// plain returns a text on one line without control and format characters, of at most maxText bytes.
func plain(text string) string { return cut(clean(text), maxText) }

// clean replaces control and format characters, such as changes of direction, and invalid bytes.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			return '�'
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		}
		return r
	}, text)
}

// cut returns at most limit bytes of a text, with an ellipsis in place of the rest.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func plains(all []string) []string {
	var out []string
	for _, text := range first(all) {
		out = append(out, plain(text))
	}
	return out
}

// first returns the first elements of a list.
func first[T any](all []T) []T { return all[:min(len(all), maxItems):min(len(all), maxItems)] }
