// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Write is one stored API write: the data that spans are made from.
type Write struct {
	// TraceID and SpanID name the span that tells of the write: itself, where
	// its request was seen, or the reconciliation that it is a moment of.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Object is what was written. Of an object that is not the span's own only
	// kind, name and UID are known, and the namespace is taken to be the same.
	Object object.Ref
	// Verb is create, update or delete, or the request's; Part what it changed:
	// desired, observed, bookkeeping or ownership. Either may be empty.
	Verb, Part, Subresource string
	// ResourceVersion and Generation are those that it was stored as; 0 where
	// not known.
	ResourceVersion, Generation int64
	Actor, User                 string
	// Start and End are when the request was received and answered; the same
	// moment where it was not seen. Source is how End is known.
	Start, End time.Time
	Source     span.TimeSource
}

// WritesOf returns the stored writes that s tells of: itself, if it is one that
// was not refused, and those among its events. One that another component made
// tells of none: it is the same write as seen from there.
func WritesOf(s *span.Span) []Write {
	if s.Origin != nil {
		return nil
	}
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
