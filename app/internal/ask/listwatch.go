// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// follow prints a row for each trace that begins, ends or changes its outcome, until an interrupt:
// `lifeline ls --watch`. shown are the entries printed so far.
func (l *List) follow(
	ctx context.Context, server *cli.Session, q client.Query, of []types.UID, shown []api.Summary,
) (int, error) {
	ctx, release := cli.UntilInterrupt(ctx, l.Signals)
	defer release()
	states := map[string]string{}
	for i := range shown {
		states[shown[i].TraceID] = state(&shown[i])
	}
	for e, err := range server.Watch(ctx, q.Object) {
		switch {
		case ctx.Err() != nil:
			return cli.CodeInterrupted, nil
		case err != nil:
			return cli.CodeError, fmt.Errorf("cannot watch the server at %s: %w", server.Server(), err)
		case e.Lost != nil:
			l.Say("lost the connection to %s; trying again", cli.Shown(server.Server()))
		}
		s := summaryOf(&e, of)
		if s == nil || !l.matches(s) || states[s.TraceID] == state(s) {
			continue
		}
		states[s.TraceID] = state(s)
		if err := l.print(api.Page{Traces: []api.Summary{*s}}, s.AsOf); err != nil {
			return cli.CodeError, fmt.Errorf("cannot print the list: %w", err)
		}
	}
	return cli.CodeInterrupted, nil
}

// summaryOf returns the trace of an event that contains one of the objects; nil without one.
func summaryOf(e *client.Event, of []types.UID) *api.Summary {
	switch {
	case e.Amended != nil: // the server has selected it
		return e.Amended
	case e.Trace != nil && e.Trace.Trace != nil && touches(e.Trace.Trace, of):
		return &e.Trace.Summary
	}
	return nil
}

// state is the part of an entry whose change prints a new row.
func state(s *api.Summary) string {
	if s.Open && s.Outcome != span.Failed {
		return string(span.Running)
	}
	return fmt.Sprint(s.Open, s.Outcome, s.Aftermath != nil)
}

// matches applies the filters that the server's stream lacks.
func (l *List) matches(s *api.Summary) bool {
	return (!l.Failed || s.Outcome.InVain()) && (!l.Open || s.Open) && (!l.Worse || s.Aftermath != nil) &&
		time.Duration(s.Duration) >= l.Slow
}

// touches reports whether the trace contains one of the objects; of is nil for any.
func touches(t *span.Trace, of []types.UID) bool {
	return of == nil || slices.ContainsFunc(t.Spans, func(s *span.Span) bool {
		return s.Object != (object.Ref{}) && slices.Contains(of, s.Object.UID)
	})
}
