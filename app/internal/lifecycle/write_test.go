// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestTypedWrites: the typed writes of recordings match their attributes.
func TestTypedWrites(t *testing.T) {
	based, changed, others := 0, 0, 0
	for name, seen := range recordings(t) {
		e := New(Options{Cluster: "test"})
		for _, o := range seen {
			e.Observe(o)
		}
		for _, one := range e.Take(seen[len(seen)-1].Seen.Add(4 * time.Hour)) {
			for _, s := range one.Spans {
				var got []string
				if s.Facts != nil {
					for _, w := range s.Facts.Writes {
						got = append(got, typedText(&w, !s.IsWrite() || w.Source == span.TimeAudit))
						if w.BasedOn > 0 {
							based++
						}
						if w.Of != nil {
							others++
						}
						changed += len(w.Changes)
						for _, c := range w.Changes {
							if c.Path == "revision" {
								t.Errorf("%s: %s: the revision is shown as a field: %+v", name, s.Name, c)
							}
						}
						if w.BasedOn >= w.ResourceVersion && w.ResourceVersion > 0 {
							t.Errorf("%s: %s: version %d is based on %d", name, s.Name, w.ResourceVersion, w.BasedOn)
						}
					}
				}
				want := shownWrites(s)
				if s.DroppedEvents > 0 {
					got, want = nil, nil // the events have fewer
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s %s: -attributes +typed:\n%s", name, s.Name, s.Object.Name, diff)
				}
			}
		}
	}
	if based == 0 || changed == 0 || others == 0 {
		t.Errorf("%d writes have a version before, %d fields changed, %d are of another object", based, changed, others)
	}
}

// typedText describes a write. The span of an observed request has no attribute for its part.
func typedText(w *span.Write, withPart bool) string {
	part := ""
	if withPart {
		part = w.Part
	}
	of := ""
	if w.Of != nil {
		of = w.Of.Kind.Kind + " " + w.Of.Name
	}
	return fmt.Sprintf(
		"%s %s %s rv=%d by=%s user=%s audit=%s of=%s changes=%t", w.Verb, part, w.Subresource, w.ResourceVersion,
		w.Actor, w.User, w.AuditID, of, len(w.Changes) > 0,
	)
}

// shownWrites returns the writes of a span by its attributes and events, as typedText does.
func shownWrites(s *span.Span) []string {
	var out []string
	if s.IsWrite() && s.Status != span.StatusError {
		out = append(out, shownText(s.Service, s.Attributes))
	}
	for _, e := range s.Events {
		if e.Name == span.EventWrite {
			out = append(out, shownText("", e.Attributes))
		}
	}
	return out
}

func shownText(actor string, attrs []attribute.KeyValue) string {
	said := map[attribute.Key]attribute.Value{}
	for _, kv := range attrs {
		said[kv.Key] = kv.Value
	}
	text := func(k attribute.Key) string {
		v := said[k]
		return v.AsString()
	}
	if by := text(span.KeyActor); by != "" {
		actor = by
	}
	of := ""
	if kind := text(span.KeyKind); kind != "" {
		of = kind + " " + text(span.KeyName)
	}
	rv := said[span.KeyRV]
	shown := said[span.KeyEdits]
	edits := slices.ContainsFunc(shown.AsStringSlice(), func(word string) bool {
		return !strings.HasPrefix(word, "revision") // it is no field
	})
	return fmt.Sprintf(
		"%s %s %s rv=%d by=%s user=%s audit=%s of=%s changes=%t", text(span.KeyVerb), text(span.KeyPart),
		text(span.KeySubresource), rv.AsInt64(), actor, text(span.KeyActorUser), text(span.KeyAuditID), of, edits,
	)
}
