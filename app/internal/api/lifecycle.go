// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	questions "github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Lifecycle is one reconciliation of an object; the fields are those of questions. Phases has seconds
// by the name of the phase.
type Lifecycle struct {
	TraceID  string             `json:"traceId"`
	SpanID   string             `json:"spanId"`
	Open     bool               `json:"open"`
	Object   object.Ref         `json:"object"`
	Outcome  string             `json:"outcome,omitempty"`
	Start    time.Time          `json:"start"`
	Duration Seconds            `json:"duration"`
	Phases   map[string]Seconds `json:"phases"`
	// SortValue is the value that orders the page, a duration in seconds; nil without one.
	SortValue *float64 `json:"sortValue,omitempty"`
	// Values has the fields of data by name, as question.Lifecycle has them. In JSON, each is a member. A client
	// has the JSON of each.
	Values map[string]any `json:"-"`
}

// lifecycleOf returns l for JSON. They share the values.
func lifecycleOf(l *store.Lifecycle) Lifecycle {
	out := Lifecycle{
		TraceID: l.Trace.String(), SpanID: l.Span.String(), Open: l.Outcome == "", Object: l.Object,
		Outcome: l.Outcome, Start: l.Start.UTC(), Duration: Seconds(l.Duration), Phases: map[string]Seconds{},
		Values: l.Values,
	}
	for name, d := range l.Phases {
		out.Phases[name] = Seconds(d)
	}
	return out
}

// fieldMember is a field of the table, and its member in JSON. The member has data if the field has no member of
// Lifecycle.
type fieldMember struct {
	field, member string
	data          bool
}

// lifecycleMembers are those of the table, in its order.
var lifecycleMembers = sync.OnceValue(func() []fieldMember {
	var out []fieldMember
	for _, f := range questions.Fields() {
		out = append(out, fieldMember{f.Name, memberOf(f.Name), f.From != nil})
	}
	return out
})

// memberOf returns the name of the member for a field: instanceType for "instance_type".
func memberOf(field string) string {
	words := strings.Split(field, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// MarshalJSON writes the members in the order of the fields, without empty ones.
func (l Lifecycle) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the encoder of the answer decides
	var failed error
	add := func(name string, v any) {
		fmt.Fprintf(&out, ",%q:", name)
		if err := enc.Encode(v); err != nil {
			failed = err
		}
	}
	add("traceId", l.TraceID)
	add("spanId", l.SpanID)
	add("open", l.Open)
	add("object", l.Object)
	for _, f := range lifecycleMembers() {
		v := l.Values[f.field]
		switch d, isLength := v.(time.Duration); {
		case f.field == "outcome" && l.Outcome != "":
			add(f.member, l.Outcome)
		case f.field == "start":
			add(f.member, l.Start)
		case f.field == "duration":
			add(f.member, l.Duration)
			add("phases", l.Phases)
		case isLength:
			add(f.member, Seconds(d))
		case v != nil:
			add(f.member, v)
		}
	}
	if l.SortValue != nil {
		add("sortValue", *l.SortValue)
	}
	doc := append(out.Bytes(), '}')
	doc[0] = '{'
	return doc, failed
}

// UnmarshalJSON is the inverse of MarshalJSON. Unknown members are left out.
func (l *Lifecycle) UnmarshalJSON(doc []byte) error {
	type fixed Lifecycle // without this method
	var members map[string]json.RawMessage
	*l = Lifecycle{}
	if err := json.Unmarshal(doc, (*fixed)(l)); err != nil {
		return err
	}
	if err := json.Unmarshal(doc, &members); err != nil {
		return err
	}
	l.Values = map[string]any{}
	for _, f := range lifecycleMembers() {
		if member := members[f.member]; f.data && member != nil {
			l.Values[f.field] = member
		}
	}
	return nil
}
