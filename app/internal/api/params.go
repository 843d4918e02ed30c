// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// maxValue bounds the value of a parameter, in bytes.
const maxValue = 1024

// maxNamed is the number of known values in an error.
const maxNamed = 8

// params are the parameters of one request. err keeps the first error, and done returns it; later
// values are meaningless.
type params struct {
	given url.Values
	read  map[string]bool
	now   time.Time
	err   error
}

func newParams(r *http.Request, now time.Time) *params {
	given, err := url.ParseQuery(r.URL.RawQuery)
	p := &params{given: given, read: map[string]bool{}, now: now}
	if err != nil {
		p.fail("the parameters cannot be read: %.120s", err.Error())
	}
	return p
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = problem(http.StatusBadRequest, format, args...)
	}
}

func (p *params) bad(name, format string, args ...any) {
	p.fail("parameter %q: %s", name, fmt.Sprintf(format, args...))
}

// done returns the first error, or an error for an unknown parameter.
func (p *params) done() error {
	if p.err != nil {
		return p.err
	}
	for _, name := range slices.Sorted(maps.Keys(p.given)) {
		if !p.read[name] {
			p.fail("unknown parameter %.80q: the parameters are %s",
				name, strings.Join(slices.Sorted(maps.Keys(p.read)), ", "))
		}
	}
	return p.err
}

// text is the value of a parameter; empty without one.
func (p *params) text(name string) string { return p.bounded(name, maxValue) }

// bounded is text with another bound, in bytes.
func (p *params) bounded(name string, most int) string {
	p.read[name] = true
	values := p.given[name]
	switch {
	case len(values) == 0:
		return ""
	case len(values) > 1:
		p.bad(name, "it was given %d times", len(values))
	case len(values[0]) > most:
		p.bad(name, "it has %d bytes, more than %d", len(values[0]), most)
	}
	return values[0]
}

// several are the values of a parameter that may be repeated, with bounds of their number and of each, in bytes.
func (p *params) several(name string, most, length int) []string {
	p.read[name] = true
	values := p.given[name]
	if len(values) > most {
		p.bad(name, "it was given %d times, more than %d", len(values), most)
		values = nil
	}
	for _, v := range values {
		if len(v) > length {
			p.bad(name, "it has %d bytes, more than %d", len(v), length)
		}
	}
	return slices.Clone(values)
}

// moment is a time, or a duration before now.
func (p *params) moment(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	if back, err := timestamp.ParseAge(text); err == nil {
		if back < 0 {
			p.bad(name, "%.80q is in the future: durations count back from now", text)
		}
		return p.now.Add(-back)
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.bad(name, `%.80q is neither a time such as "2026-03-01T12:00:00Z" nor a duration such as "1h30m" or "1d"`,
			text)
	}
	if at.IsZero() {
		at = at.Add(1) // the zero time means that none was given
	}
	return at
}

func (p *params) duration(name string) time.Duration {
	text := p.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		p.bad(name, `%.80q is no duration such as "2s" or "1m30s"`, text)
	}
	return d
}

func (p *params) yes(name string) bool {
	switch text := p.text(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		p.bad(name, "%.80q is neither true nor false", text)
		return false
	}
}

// choice is a text of a list; empty without one.
func (p *params) choice(name string, known []string) string {
	text := p.text(name)
	if text != "" && !slices.Contains(known, text) {
		p.bad(name, "%.80q is unknown: known are %s", text, strings.Join(known, ", "))
	}
	return text
}

func (p *params) limit() int { return p.number("limit", store.MaxPage, 0) }

// number is a number from 1 to most; without one it is otherwise.
func (p *params) number(name string, most, otherwise int) int {
	text := p.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.bad(name, "%.80q is no number from 1 to %d", text, most)
	}
	return n
}

// tracesOf is the query of traces, without the parameters of a page.
func tracesOf(p *params) store.Query {
	var categories []string
	for _, c := range oneOf(p, "category", reason.Names()) {
		categories = append(categories, string(c))
	}
	return store.Query{
		Categories: categories,
		Since:      p.moment("since"),
		Until:      p.moment("until"),
		Outcomes:   oneOf(p, "outcome", span.Outcomes),
		Open:       p.yes("open"),
		States:     oneOf(p, "state", store.States()),
		Worse:      p.yes("worse"),
		Slower:     p.duration("slowerThan"),
		Object:     objectOf(p),
	}
}

// parts are the parts of an object that a write changes.
var parts = []string{"desired", "metadata", "observed", "bookkeeping", "ownership"}

// oneOf returns the values in a list separated by commas. Others than the known ones are an error.
func oneOf[T ~string](p *params, name string, known []T) []T {
	text := p.text(name)
	if text == "" {
		return nil
	}
	others := ""
	if len(known) > maxNamed {
		others = " and others, see the documentation"
	}
	var out []T
	for value := range strings.SplitSeq(text, ",") {
		v := T(strings.TrimSpace(value))
		if !slices.Contains(known, v) {
			var named []string
			for _, k := range known[:min(len(known), maxNamed)] {
				named = append(named, string(k))
			}
			p.bad(name, "%.80q is not known: the values are %s%s", value, strings.Join(named, ", "), others)
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func objectOf(p *params) object.Ref {
	return object.Ref{
		Kind:      object.Kind{Group: p.text("group"), Kind: p.text("kind")},
		Namespace: p.text("namespace"), Name: p.text("name"), UID: types.UID(p.text("uid")),
	}
}

func traceIDOf(p *params, name string) (id trace.TraceID) {
	if ids := traceIDsOf(p, name); len(ids) > 0 {
		if len(ids) > 1 {
			p.bad(name, "it has %d trace IDs, more than one", len(ids))
		}
		id = ids[0]
	}
	return id
}

// traceIDsOf are the trace IDs in a list separated by commas.
func traceIDsOf(p *params, name string) (ids []trace.TraceID) {
	text := p.text(name)
	if text == "" {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		id, err := trace.TraceIDFromHex(strings.ToLower(strings.TrimSpace(one)))
		if err != nil {
			p.bad(name, "%.80q is no trace ID of 32 hexadecimal digits", one)
		}
		ids = append(ids, id)
	}
	return ids
}
