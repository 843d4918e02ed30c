// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// rebuild prints the traces derived from the current state of the object and its relatives.
func (t *Trace) rebuild(ctx context.Context) error {
	if t.Kubeconfig == nil {
		return proxy.ErrNoConfig
	}
	target, err := t.Target(t.Name, true)
	if err != nil {
		return fmt.Errorf("cannot trace %s: %w", t.Name, err)
	}
	p := pipeline.NewDisplay(t.Options, "")
	defer p.View.Close()
	traces, _, now, err := t.rebuilt(ctx, p, target)
	if err != nil {
		return err
	}
	mark := t.Streams.ErrOut
	if t.Output == cli.OutputTree {
		mark = t.Streams.Out
	}
	if _, err := fmt.Fprintln(mark, rebuiltMark); err != nil {
		return fmt.Errorf("cannot print the trace: %w", err)
	}
	if t.Output != cli.OutputHTML {
		return p.Print(traces, now)
	}
	var file bytes.Buffer
	var causes []store.Cause
	for _, one := range traces[0].Spans {
		causes = append(causes, store.CausesOf(one)...)
	}
	open := slices.ContainsFunc(traces[0].Spans, (*span.Span).Open)
	rebuilt := store.NewGate(nil, store.Whole).For(store.Scope{}).Unseal(store.Seal(traces[0], open, now))
	if err := api.HTML(&file, rebuilt, causes, now, rebuiltMark); err != nil {
		return fmt.Errorf("cannot print the trace: %w", err)
	}
	return t.print(file.Bytes())
}

// rebuilt returns the traces derived from the current state of the target and its relatives, and the time of that
// state. The reason is for a converged target that does not work. There is at least one trace; that of the target's
// last change comes first.
func (t *Trace) rebuilt(
	ctx context.Context, p *pipeline.Pipeline, target cli.Target,
) ([]*span.Trace, reason.Reason, time.Time, error) {
	none := reason.Reason{}
	if t.Kubeconfig == nil {
		return nil, none, time.Time{}, proxy.ErrNoConfig
	}
	ctx, cancel := context.WithTimeout(ctx, rebuildPatience)
	defer cancel()
	p.Cluster = <-pipeline.Identify(ctx, t.Kubeconfig.Current())
	seen, err := t.relatives(ctx, p, target)
	if err != nil {
		return nil, none, time.Time{}, err
	}
	now := t.Time()
	traces, standing := rebuild(p.Cluster, seen, now)
	if len(traces) == 0 {
		return nil, none, now, fmt.Errorf(
			"no history can be rebuilt from %s: only a server that watched it has one (lifeline serve)",
			t.where(target),
		)
	}
	return traces, standing, now, nil
}

// rebuiltMark is the notice about the limited reliability of such a trace.
const rebuiltMark = "rebuilt from the cluster's present state: times come from the objects (whole seconds)"

// rebuildPatience bounds the reading of an object and its relatives.
const rebuildPatience = time.Minute

// rebuild derives the target's traces from the current state of its family. The reason is for a converged target that
// does not work, or that names missing objects. The trace that began with the target comes first.
func rebuild(cluster string, f *family, now time.Time) ([]*span.Trace, reason.Reason) {
	engine := lifecycle.New(lifecycle.Options{Cluster: cluster, Rebuild: true})
	engine.NamePods(f.pods())
	engine.LackNodes(f.lacking)
	for _, o := range f.observations() {
		engine.Observe(o)
	}
	var out []*span.Trace
	for _, t := range engine.Traces(now) {
		if slices.ContainsFunc(t.Spans, func(s *span.Span) bool { return s.Object.UID == f.target }) {
			out = append(out, t)
		}
	}
	return out, standingOf(engine, f)
}

// standingOf returns the reason of a converged target that does not work, or that names missing objects.
func standingOf(engine *lifecycle.Engine, f *family) reason.Reason {
	target := f.seen.states[f.target]
	if missing := reason.Unresolved(target, f); missing.Text != "" {
		return missing
	}
	if f.defined != nil {
		return reason.Defined(target, f.all(*f.defined))
	}
	return reason.Blamed(engine.Standing(f.target), target, f)
}
