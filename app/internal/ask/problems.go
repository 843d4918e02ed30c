// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// Problems prints what is broken now, the worst first: `lifeline why` without an object.
type Problems struct {
	cli.Options
	Server cli.Server
	// Namespace limits the problems to those with an object in it; empty means all namespaces.
	Namespace string
	// Selector limits the problems to those with an object of the cluster with these labels, or with a controller of
	// such an object.
	Selector string
}

// Validate returns an error for invalid options. It sends no request.
func (p *Problems) Validate() error {
	if err := cli.CheckOutput(p.Output, WhyOutputs()); err != nil {
		return err
	}
	return checkSelector(p.Selector)
}

// broken are the problems now, and what to say beside them.
type broken struct {
	problem.List
	// elsewhere is the number of problems of other namespaces, and objects that of the objects read.
	elsewhere, objects int
	// last has the last changes of the first objects of problems without a cause, by the ID of the problem.
	last map[string]*problem.Cause
	// running is the number of running changes. some means that there are more.
	running int
	some    bool
	// watched is the time from which the server watches; zero without one.
	watched time.Time
}

// Run prints the problems. The exit code is CodeUnsettled if there is one.
func (p *Problems) Run(ctx context.Context) (code int, err error) {
	server, err := p.Connect(ctx, p.Server)
	if err != nil {
		return cli.CodeError, err
	}
	var found *broken
	if server == nil {
		found, err = p.present(ctx)
	} else {
		defer server.Close()
		found, err = p.served(ctx, server)
	}
	if err != nil {
		return cli.CodeError, err
	}
	if len(found.Problems) == 0 {
		if err := checkNamespace(ctx, &p.Options, p.Namespace); err != nil {
			return cli.CodeError, err
		}
	}
	if err := p.print(found); err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the problems: %w", err)
	}
	if len(found.Problems) > 0 {
		return cli.CodeUnsettled, nil
	}
	return cli.CodeOK, nil
}

// present finds the problems by the present state of the cluster.
func (p *Problems) present(ctx context.Context) (*broken, error) {
	if p.Kubeconfig == nil {
		return nil, fmt.Errorf("there is no server that could list problems, and no cluster to read: %w",
			proxy.ErrNoConfig)
	}
	var scope watch.Scope
	if p.Namespace != "" {
		scope.Namespaces = []string{p.Namespace}
	}
	state, err := readPresent(ctx, &p.Options, scope)
	if err != nil {
		return nil, err
	}
	of := problem.Selection{Limit: problem.MaxProblems}
	if p.Selector != "" {
		uids, err := p.selected(ctx)
		if err != nil {
			return nil, err
		}
		of.Matches = func(o object.Ref) bool { return slices.Contains(uids, o.UID) }
	}
	out := &broken{List: state.engine.AllProblems(state.now).Select(of), objects: len(state.seen.states)}
	out.Problems = slices.Clone(out.Problems)
	for i := range out.Problems {
		if p := &out.Problems[i]; p.Cause != nil {
			cause := *p.Cause
			cause.TraceID, p.Cause = "", &cause // no server has the trace
		}
	}
	return out, nil
}
