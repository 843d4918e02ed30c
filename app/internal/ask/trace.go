// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// minPrefix is the minimum length of a trace ID's prefix, and idDigits the length of the ID.
	minPrefix, idDigits = 8, 32
	// lookBack is the number of traces touching an object that are searched for one that began with
	// it.
	lookBack = 200
)

// Trace prints one trace: `lifeline trace`.
type Trace struct {
	cli.Options
	Server cli.Server
	// Name is KIND/NAME, a trace ID or its prefix.
	Name string
	// Namespace is the object's namespace, if its kind is namespaced.
	Namespace string
	// All also lists the object's other traces, on standard error.
	All bool
}

// TraceOutputs returns the output formats, the default first.
func TraceOutputs() []string { return append(cli.Outputs(), cli.OutputHTML) }

// Validate returns an error for invalid options. It sends no request.
func (t *Trace) Validate() error {
	if !strings.Contains(t.Name, "/") && !isTraceID(t.Name) {
		return fmt.Errorf("%q is neither KIND/NAME nor a trace ID (at least %d hexadecimal digits)", t.Name, minPrefix)
	}
	if isTraceID(t.Name) {
		return nil
	}
	return cli.CheckTarget(t.Name)
}

// isTraceID reports whether text is a trace ID or its prefix.
func isTraceID(text string) bool {
	return len(text) >= minPrefix && len(text) <= idDigits && strings.Trim(
		strings.ToLower(text), "0123456789abcdef",
	) == ""
}

// Run prints the trace from a server. Without one, it derives a trace from the current state of the
// object and its relatives.
func (t *Trace) Run(ctx context.Context) (code int, err error) {
	if err := t.run(ctx); err != nil {
		return cli.CodeError, err
	}
	return cli.CodeOK, nil
}

func (t *Trace) run(ctx context.Context) error {
	if isTraceID(t.Name) {
		of := t.Options
		of.Everywhere = true // a trace may have objects of any namespace
		server, err := of.Need(ctx, t.Server)
		if err != nil {
			return fmt.Errorf("cannot look up a trace ID, and KIND/NAME needs no server: %w", err)
		}
		defer server.Close()
		return t.fetch(ctx, server, strings.ToLower(t.Name))
	}
	server, err := t.Connect(ctx, t.Server)
	if err != nil {
		return err
	}
	if server == nil {
		return t.rebuild(ctx)
	}
	defer server.Close()
	target, err := t.Target(t.Name, false)
	if err != nil {
		return fmt.Errorf("cannot trace %s: %w", t.Name, err)
	}
	found, err := t.find(ctx, server, target)
	if err != nil || found {
		return err
	}
	if t.Kubeconfig == nil {
		return fmt.Errorf("the server at %s has no trace of %s", server.Server(), t.where(target))
	}
	t.Say("the server at %s has no trace of %s", cli.Shown(server.Server()), t.where(target))
	return t.rebuild(ctx)
}

// where returns the target with its namespace.
func (t *Trace) where(target cli.Target) string {
	if target.Namespaced && t.Namespace != "" {
		return target.String() + " in namespace " + cli.Shown(t.Namespace)
	}
	return target.String()
}

// fetch prints the trace with that ID.
func (t *Trace) fetch(ctx context.Context, server *cli.Session, id string) error {
	if t.Output == cli.OutputHTML {
		file, err := server.HTML(ctx, id)
		if err != nil {
			return fmt.Errorf("cannot get trace %s: %w", id, err)
		}
		return t.print(file)
	}
	doc, err := server.Trace(ctx, id)
	if err != nil {
		return fmt.Errorf("cannot get trace %s: %w", id, err)
	}
	now := later(doc.Summary.AsOf, server.About.AsOf)
	p := pipeline.NewDisplay(t.Options, server.About.Cluster)
	if err := errors.Join(p.Print([]*span.Trace{doc.Trace}, now), p.View.Close()); err != nil {
		return err
	}
	if broken := doc.Summary.Now; broken != nil {
		t.Say("%s %s: %s", render.Broken(broken.State == api.Still),
			duration.HumanDuration(max(0, now.Sub(broken.Since))), cli.Shown(broken.Reason))
	}
	return nil
}

// print writes a file to standard output.
func (t *Trace) print(file []byte) error {
	if _, err := t.Streams.Out.Write(file); err != nil {
		return fmt.Errorf("cannot print the trace: %w", err)
	}
	return nil
}

// find prints the target's best trace, if there is one, and reports the others.
func (t *Trace) find(ctx context.Context, server *cli.Session, target cli.Target) (bool, error) {
	touching, err := collect(ctx, server.Client, client.Query{Object: target.Ref(t.Namespace)}, lookBack)
	if err != nil {
		return false, fmt.Errorf("cannot look for traces of %s: %w", t.where(target), err)
	}
	touching.note(&t.Options)
	if len(touching.Traces) == 0 {
		return false, nil
	}
	best, err := t.best(ctx, server, touching.Traces, target)
	if err != nil {
		return false, err
	}
	if err := t.fetch(ctx, server, touching.Traces[best].TraceID); err != nil {
		return false, err
	}
	return true, t.others(server, touching.Traces, best, touching.more, target)
}

// best returns the index of the newest trace that began with the target, or else of the newest
// trace. A trace of lifeline run began with each object that its command wrote.
func (t *Trace) best(ctx context.Context, server *cli.Session, touching []api.Summary, target cli.Target) (int, error) {
	is := func(o *object.Ref) bool {
		return o != nil && o.Is(target.Kind.Group, target.Kind.Kind) && o.Name == target.Name
	}
	for i, s := range touching {
		if is(s.Object) {
			return i, nil
		}
		if s.Command == "" {
			continue
		}
		doc, err := server.Trace(ctx, s.TraceID)
		if err != nil {
			return 0, fmt.Errorf("cannot get trace %s: %w", s.TraceID, err)
		}
		root := doc.Trace.Root()
		for _, child := range doc.Trace.Spans {
			if root != nil && child.Parent == root.ID && is(&child.Object) {
				return i, nil
			}
		}
	}
	return 0, nil
}

// others reports the traces that were not printed.
func (t *Trace) others(server *cli.Session, touching []api.Summary, best int, more bool, target cli.Target) error {
	newer, older := touching[:best], touching[best+1:]
	n := len(newer) + len(older)
	if n == 0 {
		return nil
	}
	if !t.All {
		hint, them := "", "them"
		if len(newer) > 0 {
			hint = fmt.Sprintf(", the newest %.*s", minPrefix, cli.Shown(newer[0].TraceID))
		}
		if n == 1 && !more {
			hint, them = strings.Replace(hint, "the newest ", "", 1), "it"
		}
		t.Say("%s%s: --all lists %s", touch(target, n, more), hint, them)
		return nil
	}
	t.Say("%s:", touch(target, n, more))
	out := t.Streams.ErrOut
	s := cli.NewScreen(out, t.Environment())
	l := List{Options: t.Options}
	l.Output = cli.OutputTable
	return render.List(
		out, summaries(append(newer[:len(newer):len(newer)], older...), server.About.AsOf), l.listOptions(s),
	)
}

// touch returns the number of the target's other traces as text.
func touch(target cli.Target, n int, more bool) string {
	switch {
	case more:
		return fmt.Sprintf("more than %d other traces touch %s", n, target)
	case n == 1:
		return fmt.Sprintf("1 other trace touches %s", target)
	}
	return fmt.Sprintf("%d other traces touch %s", n, target)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
