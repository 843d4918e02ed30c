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
	// Values has the fields of data, as question.Lifecycle has them. In JSON, each is a member.
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

// lifecycleFields are the fields of the table, in the order of the members in JSON.
var lifecycleFields = sync.OnceValue(questions.Fields)

// memberOf returns the name of the member for a field of data: instanceType for "instance_type".
func memberOf(f *questions.Field) string {
	words := strings.Split(f.Name, "_")
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
	all := lifecycleFields()
	for i := range all {
		switch f := &all[i]; {
		case f.Name == "outcome" && l.Outcome != "":
			add(f.Name, l.Outcome)
		case f.Name == "start":
			add(f.Name, l.Start)
		case f.Name == "duration":
			add(f.Name, l.Duration)
			add("phases", l.Phases)
		case l.Values[f.Name] != nil:
			v := l.Values[f.Name]
			if d, is := v.(time.Duration); is {
				v = Seconds(d)
			}
			add(memberOf(f), v)
		}
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
	values := questions.Lifecycle{}
	all := lifecycleFields()
	for i := range all {
		f := &all[i]
		member := members[memberOf(f)]
		if f.From == nil || member == nil {
			continue
		}
		v, err := valueOf(f.Type, member)
		if err != nil {
			return fmt.Errorf("cannot read %s of a lifecycle: %w", memberOf(f), err)
		}
		values.Set(f.Name, v)
	}
	l.Values = values.Values
	return nil
}

// valueOf reads a value of that type.
func valueOf(of questions.Type, doc json.RawMessage) (any, error) {
	switch of {
	case questions.List:
		return read[[]string](doc)
	case questions.Map:
		return read[map[string]string](doc)
	case questions.Int:
		return read[int64](doc)
	case questions.Timestamp:
		return read[time.Time](doc)
	case questions.Duration:
		d, err := read[Seconds](doc)
		return time.Duration(d), err
	case questions.Bool, questions.String:
	}
	return read[string](doc)
}

func read[T any](doc json.RawMessage) (out T, err error) {
	err = json.Unmarshal(doc, &out)
	return out, err
}
