// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	// The image of the server has no database of time zones.
	_ "time/tzdata"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	questions "github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxQuantiles bounds the quantiles of one request.
const maxQuantiles = 10

// questionOf reads the parameters of every question. Read others before done.
func questionOf(p *params) store.FindQuery {
	return store.FindQuery{Where: whereOf(p), Now: p.now, Since: p.moment("since"), Until: p.moment("until")}
}

// whereOf is the condition; nil without one.
func whereOf(p *params) *questions.Question { return conditionOf(p, "where") }

// conditionOf is the condition in a parameter; nil without one.
func conditionOf(p *params, name string) *questions.Question {
	if !p.given.Has(name) {
		p.read[name] = true
		return nil
	}
	q, err := questions.Parse(p.bounded(name, questions.MaxText))
	p.wrong(name, err)
	return q
}

// lengthOf is an expression with a duration; nil without one.
func lengthOf(p *params, name string) *questions.Length {
	text := p.bounded(name, questions.MaxText)
	if text == "" {
		return nil
	}
	l, err := questions.ParseLength(text)
	p.wrong(name, err)
	return l
}

// numberOf is an expression with a duration or a count; nil without one.
func numberOf(p *params, name string) *questions.Number {
	text := p.bounded(name, questions.MaxText)
	if text == "" {
		return nil
	}
	n, err := questions.ParseNumber(text)
	p.wrong(name, err)
	return n
}

// keysOf are the texts of the keys of groups.
func keysOf(p *params, name string) []string {
	texts := p.several(name, store.MaxKeys, questions.MaxText)
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// byOf are the keys of groups.
func byOf(p *params, name string) []store.By {
	var out []store.By
	for i, text := range keysOf(p, name) {
		by, err := store.ParseBy(text)
		p.wrongAt(name, i, err)
		out = append(out, by)
	}
	return out
}

// Count is the sort of groups by their size.
const Count = "count"

// groupOrderOf is the order of groups with these quantiles.
func groupOrderOf(p *params, name string, quantiles []float64) store.GroupOrder {
	text := p.text(name)
	switch text {
	case "":
		return store.OrderUsual
	case Count:
		return store.OrderCount
	}
	known := []string{Count}
	for i, q := range quantiles {
		name := QuantileName(q)
		if name == text {
			return store.OrderQuantile(i)
		}
		known = append(known, name)
	}
	p.bad(name, "%.80q is unknown: groups are sorted by %s", text, strings.Join(known, ", "))
	return store.OrderUsual
}

// QuantileName returns the name of a quantile: p99 for 0.99.
func QuantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// wrong rejects a parameter for an error in its expression.
func (p *params) wrong(name string, err error) { p.wrongAt(name, 0, err) }

// wrongAt is wrong for one value of a repeated parameter.
func (p *params) wrongAt(name string, index int, err error) {
	var fault *questions.Error
	if errors.As(err, &fault) && p.err == nil {
		p.err = &Error{
			Code:      http.StatusBadRequest,
			Message:   fault.Detail,
			Parameter: name,
			Index:     index,
			Line:      fault.Line,
			Column:    fault.Column,
			Hint:      fault.Hint,
		}
	}
}

func listLifecycles(r *request) (any, error) {
	p := r.params
	q := questionOf(p)
	q.Namespace, q.Limit, q.After = p.text("namespace"), p.limit(), store.Cursor(p.text("after"))
	q.Sort, q.Reverse = numberOf(p, "sort"), p.yes("reverse")
	if q.Reverse && q.Sort == nil {
		p.bad("reverse", "it needs %q", "sort")
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	page, err := r.access.Find(r.ctx(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := LifecyclePage{
		Lifecycles: make([]Lifecycle, len(page.Lifecycles)), Next: string(page.Next),
		Incomplete: object.Bound(page.Incomplete), Since: momentOf(page.Since), Uses: used(q.Where),
	}
	if q.Sort != nil {
		out.Sort, out.SortType = q.Sort.String(), q.Sort.Type().String()
	}
	for i := range page.Lifecycles {
		l := &page.Lifecycles[i]
		out.Lifecycles[i] = lifecycleOf(l)
		if l.Rank.Known {
			value := float64(l.Rank.Value)
			if q.Sort.Type() == questions.Duration {
				value = time.Duration(l.Rank.Value).Seconds()
			}
			out.Lifecycles[i].SortValue = &value
		}
	}
	return out, nil
}

// minFound is the number of lifecycles that are read at once, even for a shorter page: some of their
// traces may not match.
const minFound = 200

// tracesWhere lists the traces with a matching lifecycle. List selects among them, apart from its
// bounds of time, which are those of the lifecycle.
func tracesWhere(r *request, q store.FindQuery, list store.Query) (*Page, error) {
	limit := store.PageLength(list.Limit)
	q.Traces, q.After = true, list.After
	list.Since, list.Until = time.Time{}, time.Time{}
	out := &Page{Traces: []Summary{}}
	q.Limit = max(limit, minFound)
	for {
		page, err := r.access.Find(r.ctx(), q)
		if err != nil {
			return nil, refused(err)
		}
		list.IDs, list.After, list.Limit = nil, "", len(page.Lifecycles)
		for i := range page.Lifecycles {
			list.IDs = append(list.IDs, page.Lifecycles[i].Trace)
		}
		found, err := summaries(r, list)
		if err != nil {
			return nil, err
		}
		out.Since = momentOf(page.Since)
		if out.Incomplete == "" {
			out.Incomplete = object.Bound(page.Incomplete)
		}
		for i, id := range list.IDs {
			if sum := found[id]; sum != nil { // others do not match, or were removed meanwhile
				out.Traces = append(out.Traces, SummaryOf(sum))
			}
			last := i == len(list.IDs)-1
			if len(out.Traces) == limit && (!last || page.Next != "") {
				out.Next = string(q.Cursor(&page.Lifecycles[i]))
				return out, nil
			}
		}
		if q.After = page.Next; page.Next == "" {
			return out, nil
		}
	}
}

// summaries returns the traces among q.IDs that match q.
func summaries(r *request, q store.Query) (map[trace.TraceID]*store.Summary, error) {
	if len(q.IDs) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	page, err := r.access.List(r.ctx(), q)
	if err != nil {
		return nil, err
	}
	out := map[trace.TraceID]*store.Summary{}
	for i := range page.Traces {
		out[page.Traces[i].ID] = &page.Traces[i]
	}
	return out, nil
}

func groupLifecycles(r *request) (any, error) {
	p := r.params
	q := store.GroupQuery{
		FindQuery: questionOf(p),
		By:        byOf(p, "by"),
		Of:        lengthOf(p, "of"),
		Quantiles: fractionsOf(p, "quantiles"),
		Zone:      zoneOf(p, "tz"),
		Changes:   p.yes("changes"),
		States:    oneOf(p, "state", store.States()),
	}
	q.Namespace, q.Order = p.text("namespace"), groupOrderOf(p, "sort", q.Quantiles)
	if err := p.done(); err != nil {
		return nil, err
	}
	if q.Of == nil && len(q.Quantiles) > 0 && !q.Changes {
		var err error
		if q.Of, err = questions.ParseLength("duration"); err != nil {
			return nil, err
		}
	}
	if err := q.Validate(); err != nil {
		return nil, problem(http.StatusBadRequest, "%s", err.Error())
	}
	page, err := r.access.Group(r.ctx(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := GroupPage{
		Quantiles: q.Quantiles, Groups: make([]Group, len(page.Groups)), More: page.More, Open: page.Open,
		Incomplete: object.Bound(page.Incomplete), Since: momentOf(page.Since),
	}
	texts := keysOf(p, "by")
	out.By, out.Keys = firstOf(texts)
	for i, by := range q.By {
		if by.Elements != nil {
			out.Lists = append(out.Lists, texts[i])
		}
	}
	if q.Of != nil {
		out.Of = q.Of.String()
	}
	for i, g := range page.Groups {
		out.Groups[i] = Group{Count: g.Count, With: g.With}
		out.Groups[i].Value, out.Groups[i].Values = firstOf(g.Values)
		for _, d := range g.Quantiles {
			out.Groups[i].Quantiles = append(out.Groups[i].Quantiles, Seconds(d))
		}
	}
	return out, nil
}

// firstOf returns the first of some texts, and all if there are several.
func firstOf(texts []string) (first string, several []string) {
	if len(texts) > 0 {
		first = texts[0]
	}
	if len(texts) > 1 {
		several = texts
	}
	return first, several
}

// fractionsOf are numbers from 0 to 1, separated by commas.
func fractionsOf(p *params, name string) []float64 {
	text := p.text(name)
	if text == "" {
		return nil
	}
	var out []float64
	for part := range strings.SplitSeq(text, ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(f >= 0 && f <= 1) {
			p.bad(name, "%.80q is no number from 0 to 1, such as 0.9", part)
		}
		out = append(out, f)
	}
	if len(out) > maxQuantiles {
		p.bad(name, "there are %d, more than %d", len(out), maxQuantiles)
	}
	return out
}

// zoneOf is a time zone; UTC without one.
func zoneOf(p *params, name string) *time.Location {
	text := p.text(name)
	if text == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(text)
	if err != nil || text == time.Local.String() {
		p.bad(name, `%.80q is no time zone such as "Europe/Berlin" or "UTC"`, text)
		return time.UTC
	}
	return zone
}

// refused returns the answer for an error of a question: one sentence with the next step.
func refused(err error) error {
	var withheld *store.WithheldError
	switch {
	case errors.As(err, &withheld):
		return problem(http.StatusForbidden, "%s", withheld)
	case errors.Is(err, store.ErrTooLong):
		return problem(http.StatusUnprocessableEntity,
			"the question takes longer than %s: narrow it with a later since, a kind or a namespace",
			store.MaxQuestionTime)
	case errors.Is(err, store.ErrBusy):
		return problem(http.StatusTooManyRequests, "this server is busy with other questions: try again in a moment")
	}
	return err
}

// used returns the fields that a condition uses, in the order of the documents.
func used(q *questions.Question) []string {
	out := []string{}
	if q == nil {
		return out
	}
	for _, f := range questions.Fields() {
		if q.Uses(f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

func momentOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
