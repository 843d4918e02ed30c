// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
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
	out := &broken{List: state.engine.Problems(state.now), objects: len(state.seen.states)}
	for i := range out.Problems {
		if c := out.Problems[i].Cause; c != nil {
			c.TraceID = "" // no server has it
		}
	}
	if p.Selector != "" {
		uids, err := p.selected(ctx)
		if err != nil {
			return nil, err
		}
		out.Problems = slices.DeleteFunc(slices.Clone(out.Problems), func(one problem.Problem) bool {
			return !slices.ContainsFunc(one.Objects, func(o object.Ref) bool { return slices.Contains(uids, o.UID) })
		})
	}
	return out, nil
}

// maxRunning is the number of running changes that are counted.
const maxRunning = 200

// served finds the problems of a server.
func (p *Problems) served(ctx context.Context, server *cli.Session) (*broken, error) {
	out := &broken{watched: seenSince(server.About)}
	if p.Selector != "" {
		uids, err := p.selected(ctx)
		if err != nil {
			return nil, err
		}
		out.List, err = problemsOf(ctx, server.Client, p.Namespace, uids)
		if err != nil {
			return nil, err
		}
	} else {
		list, err := listProblems(ctx, server.Client, object.Ref{Namespace: p.Namespace})
		if err != nil {
			return nil, err
		}
		out.List = *list
	}
	if p.Namespace != "" && p.Selector == "" {
		all, err := server.Problems(ctx, client.ProblemQuery{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("cannot count the problems of all namespaces: %w", err)
		}
		out.elsewhere = max(0, len(all.Problems)+all.More-len(out.Problems)-out.More)
	}
	running, err := collect(ctx, server.Client, client.Query{
		Open: true, Object: object.Ref{Namespace: p.Namespace},
	}, maxRunning)
	if err == nil { // an answer without the number is complete enough
		out.running, out.some = len(running.Traces), running.more
	}
	return out, nil
}

// problemsOf returns the problems of the objects, the worst first.
func problemsOf(ctx context.Context, c *client.Client, namespace string, uids []types.UID) (problem.List, error) {
	all, err := listProblems(ctx, c, object.Ref{Namespace: namespace})
	if err != nil {
		return problem.List{}, err
	}
	of := map[string]*problem.Problem{}
	for _, uid := range uids {
		some, err := listProblems(ctx, c, object.Ref{UID: uid})
		if err != nil {
			return problem.List{}, err
		}
		for i := range some.Problems {
			add(of, &some.Problems[i])
		}
	}
	out := *all
	out.Problems, out.More = []problem.Problem{}, 0
	for i := range all.Problems {
		if p := of[all.Problems[i].ID]; p != nil {
			out.Problems = append(out.Problems, *p)
		}
	}
	return out, nil
}

// add adds the objects of p to those of its problem. The problem is that of the oldest object.
func add(to map[string]*problem.Problem, p *problem.Problem) {
	old := to[p.ID]
	if old == nil {
		to[p.ID] = p
		return
	}
	if p.Since.Before(old.Since) {
		old, p = p, old
	}
	old.Count += p.Count
	old.Objects = append(old.Objects, p.Objects...)
	old.Objects = old.Objects[:min(len(old.Objects), problem.MaxObjects)]
	old.Namespaces = slices.Compact(slices.Sorted(slices.Values(append(old.Namespaces, p.Namespaces...))))
	to[old.ID] = old
}

// listProblems returns all problems with such an object.
func listProblems(ctx context.Context, c *client.Client, of object.Ref) (*problem.List, error) {
	list, err := c.Problems(ctx, client.ProblemQuery{Object: of, Limit: problem.MaxProblems})
	if err != nil {
		return nil, fmt.Errorf("cannot list the problems: %w", err)
	}
	return list, nil
}

// selected returns the UIDs of the cluster's objects with the labels that have no controller, and of the
// controllers of the others.
func (p *Problems) selected(ctx context.Context) ([]types.UID, error) {
	resources, err := (&List{Options: p.Options}).selectable(object.Ref{Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	found, err := listed(ctx, &p.Options, resources, p.Namespace, p.Selector, maxSelectedObjects)
	if err != nil {
		return nil, err
	}
	known := map[types.UID]bool{}
	for i := range found {
		known[found[i].uid] = true
	}
	var out []types.UID
	for i := range found {
		uid := found[i].uid
		if found[i].controller != "" {
			if known[found[i].controller] {
				continue // it stands for the object
			}
			uid = found[i].controller
		}
		if !slices.Contains(out, uid) {
			out = append(out, uid)
		}
	}
	if len(out) > maxSelected {
		return nil, fmt.Errorf("more than %d objects match %s: give a namespace with -n, or more labels",
			maxSelected, cli.Shown(p.Selector))
	}
	return out, nil
}

// maxSelectedObjects bounds the objects of a label selector, with those that have a controller.
const maxSelectedObjects = 2000

// checkNamespace returns an error if the namespace does not exist. Without the right to read it, nothing is known.
func checkNamespace(ctx context.Context, o *cli.Options, namespace string) error {
	if o.Kubeconfig == nil || namespace == "" {
		return nil
	}
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cfg.UserAgent = o.UserAgent()
	cluster, err := metadata.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, namespacePatience)
	defer cancel()
	namespaces := kind.Namespace.GroupVersionResource()
	if _, err := cluster.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return errors.New("there is no namespace " + cli.Shown(namespace) + ": give another with -n, or -A for all")
	}
	return nil
}

// namespacePatience bounds the request for a namespace.
const namespacePatience = 3 * time.Second
