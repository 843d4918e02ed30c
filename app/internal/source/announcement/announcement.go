// SPDX-License-Identifier: Apache-2.0

// Package announcement receives the commands that `lifeline run` announces to a server: the trace
// context of the command, and the writes that its proxy saw. The server then reports the change
// under the trace ID that the command printed.
//
// An announcement is a claim of its sender. It is therefore only accepted from the machine itself or
// with a client certificate, it names no user, and the engine joins a write to the command only when
// the cluster shows the written version. A refused write joins no object: like the exit code, it is a claim about
// the command itself, until the audit log shows the same request.
package announcement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

const (
	// MaxWrites limits the writes of one announcement.
	MaxWrites = 500
	// Every is the interval of announcements of a running command. A command without one for
	// patience counts as killed.
	Every    = 5 * time.Second
	patience = 30 * time.Second
	// killed is the exit code of a command that ended without an announcement.
	killed = -1
)

// Announcement is the JSON body of a request to the server. Its sender repeats Run in each
// announcement; the last has the end of the command.
type Announcement struct {
	// Sent is the time of the request by the sender's clock, which may differ from the server's.
	Sent time.Time       `json:"sent"`
	Run  observation.Run `json:"run"`
	// Writes are new writes, at most MaxWrites; refused ones, too.
	Writes []*observation.Write `json:"writes,omitempty"`
}

// maxSkew is the difference of clocks that is not corrected. It includes the time of the request.
const maxSkew = 500 * time.Millisecond

// check returns the trace ID of a possible announcement.
func (a *Announcement) check(now time.Time) (trace.TraceID, error) {
	root := parse(a.Run.TraceParent)
	switch {
	case !root.IsValid():
		return trace.TraceID{}, errors.New(`"run.traceParent" is not a W3C trace context`)
	case len(a.Writes) > MaxWrites:
		return trace.TraceID{}, fmt.Errorf("%d writes: send at most %d at a time", len(a.Writes), MaxWrites)
	case !timestamp.Possible(a.Sent, now) || !timestamp.Possible(a.Run.Start, a.Sent):
		return trace.TraceID{}, errors.New(`"sent" or "run.start" is not a possible time`)
	}
	return root.TraceID(), nil
}

// skew returns the correction of the sender's times.
func (a *Announcement) skew(now time.Time) time.Duration {
	if by := now.Sub(a.Sent); by.Abs() > maxSkew {
		return by
	}
	return 0
}

// run returns the command with times by the server's clock.
func (a *Announcement) run(skew time.Duration) *observation.Run {
	out := &observation.Run{
		TraceParent: text(parse(a.Run.TraceParent)), Parent: text(parse(a.Run.Parent)),
		Command: bound(a.Run.Command), Start: a.Run.Start.Add(skew).UTC(),
	}
	if !a.Run.End.IsZero() {
		_, end, _ := timestamp.Interval(a.Run.Start, a.Run.End, a.Sent)
		out.End, out.ExitCode = end.Add(skew).UTC(), a.Run.ExitCode
	}
	return out
}

// writes returns the usable writes, with times by the server's clock: those of this command. The object of a
// stored one is known by its UID. A refused one has no UID: nothing in the cluster shows it, so it belongs to the
// command alone. Fields that a sender may not claim, such as users, are dropped.
func (a *Announcement) writes(skew time.Duration) []*observation.Write {
	id := parse(a.Run.TraceParent).TraceID()
	var out []*observation.Write
	for _, w := range a.Writes {
		if w == nil {
			continue
		}
		request := parse(w.TraceParent)
		if w.UID == "" && !w.Failed() || w.Kind.Kind == "" || w.Name == "" || request.TraceID() != id {
			continue
		}
		start, end, _ := timestamp.Interval(w.Start, w.End, a.Sent)
		o := &observation.Observation{Write: &observation.Write{
			Ref: object.Ref{
				Kind: object.Kind{
					Group: bound(w.Kind.Group), Version: bound(w.Kind.Version), Kind: bound(w.Kind.Kind),
				},
				Namespace: bound(w.Namespace), Name: bound(w.Name), UID: types.UID(bound(string(w.UID))),
			},
			Resource: bound(w.Resource), Subresource: bound(w.Subresource), Verb: bound(w.Verb),
			ResourceVersion: w.ResourceVersion, Generation: w.Generation,
			Start: start.Add(skew).UTC(), End: end.Add(skew).UTC(), Code: w.Code,
			AuditID: bound(w.AuditID), UserAgent: bound(w.UserAgent), TraceParent: text(request),
		}}
		if w.Failed() {
			o.Write.UID, o.Write.ResourceVersion, o.Write.Generation = "", 0, 0
			o.Write.Reason, o.Write.Message = bound(w.Reason), bound(w.Message)
			o.Clean()
		}
		out = append(out, o.Write)
	}
	return out
}

// bound makes untrusted text valid and short.
func bound(s string) string { return object.Bound(strings.ToValidUTF8(s, "\uFFFD")) }

// parse reads a W3C trace context; an invalid one gives the zero context.
func parse(traceParent string) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(
		context.Background(), propagation.MapCarrier{"traceparent": traceParent}))
}

// text returns a trace context as W3C text; "" if it is invalid.
func text(sc trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier["traceparent"]
}
