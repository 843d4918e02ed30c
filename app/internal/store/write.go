// SPDX-License-Identifier: Apache-2.0

package store

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Write is one stored API write, the source of spans.
type Write struct {
	// TraceID and SpanID name the write's span: its own if its request was seen, else the
	// reconciliation.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Number is the write's place among the writes of its span, from 0.
	Number int
	// Object is the written object. An object other than the span's has no group and no version. So a
	// list of the traces of a Deployment omits traces that only note its status.
	Object object.Ref
	// Write has the rest; Of is nil.
	span.Write
}

// precedes reports whether w was stored before v. The times of two writes to one object may have different
// precisions, so their resourceVersions decide.
func (w *Write) precedes(v *Write) bool {
	same := w.Object.UID != "" && w.Object.UID == v.Object.UID
	if same && w.ResourceVersion > 0 && v.ResourceVersion > 0 {
		return w.ResourceVersion < v.ResourceVersion
	}
	return w.Start.Before(v.Start)
}

// WritesOf returns the stored writes of s: its own, unless it was refused, and those without a span of
// their own. It returns none for a span of another component, a second view of a write that has a span
// already.
func WritesOf(s *span.Span) []Write {
	if s.Origin != nil {
		return nil
	}
	if s.Facts == nil || len(s.Facts.Writes) == 0 {
		return inferWrites(s)
	}
	out := make([]Write, len(s.Facts.Writes))
	for i, w := range s.Facts.Writes {
		out[i] = Write{TraceID: s.TraceID, SpanID: s.ID, Number: i, Object: s.Object, Write: w}
		if w.Of != nil {
			out[i].Object, out[i].Of = *w.Of, nil
			out[i].Object.Group, out[i].Object.Version = "", ""
		}
	}
	return out
}

// inferWrites returns the writes of a span without facts, such as one of another sender, by its attributes and
// events. If the written object is not the span's own, only its kind, name and UID are known; the
// namespace is assumed to be the span's.
func inferWrites(s *span.Span) []Write {
	var out []Write
	if s.IsWrite() && s.Status != span.StatusError && !s.Open() {
		w := write(s, s.Attributes)
		w.Start, w.End, w.Source = s.Start.Time, s.End.Time, s.End.Source
		if w.Actor == "" {
			w.Actor = s.Service
		}
		out = append(out, w)
	}
	for _, e := range s.Events {
		if e.Name != span.EventWrite {
			continue
		}
		w := write(s, e.Attributes)
		w.Start, w.End = e.Time, e.Time
		w.Number = len(out)
		if w.Source == "" {
			w.Source = span.TimeWatch
		}
		out = append(out, w)
	}
	return out
}

func write(s *span.Span, attrs []attribute.KeyValue) Write {
	w := Write{TraceID: s.TraceID, SpanID: s.ID, Object: s.Object}
	other := object.Ref{Namespace: s.Object.Namespace}
	for _, kv := range attrs {
		switch v := kv.Value; kv.Key {
		case span.KeyVerb:
			w.Verb = v.String()
		case span.KeyPart:
			w.Part = v.String()
		case span.KeySubresource:
			w.Subresource = v.String()
		case span.KeyRV:
			w.ResourceVersion = v.AsInt64()
		case span.KeyGeneration:
			w.Generation = v.AsInt64()
		case span.KeyActor:
			w.Actor = v.String()
		case span.KeyActorUser:
			w.User = v.String()
		case span.KeyAuditID:
			w.AuditID = v.String()
		case span.KeyTimeEnd:
			w.Source = span.TimeSource(v.String())
		case span.KeyKind:
			other.Kind.Kind = v.String()
		case span.KeyName:
			other.Name = v.String()
		case span.KeyUID:
			other.UID = types.UID(v.String())
		}
	}
	if other.UID != "" && other.UID != s.Object.UID {
		w.Object = other
	}
	return w
}
