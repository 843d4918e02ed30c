// SPDX-License-Identifier: Apache-2.0

// Package permission finds what a user may see, by the rights of the cluster: each decision is a
// SubjectAccessReview of the API server. The result is a scope of package store.
//
// Decisions are cached for a short time, and a question is bounded in time and in reviews. There is no
// review for a row of an answer. Without a decision nothing is permitted. Who the user is, package identity
// finds.
package permission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Group and Resource name the right to see changes.
const (
	Group    = "lifeline.dev"
	Resource = "changes"
)

const (
	// MaxNamespaces bounds the namespaces that one question reviews.
	MaxNamespaces = 1000
	// grantTime and refusalTime are the times for which a decision holds. For a repeated question a refusal holds
	// longer: a stream must notice a revoked right soon, and a new one at some time.
	grantTime, refusalTime, repeatedTime = 30 * time.Second, 10 * time.Second, 5 * time.Minute
	// patience bounds all reviews of one question.
	patience = 3 * time.Second
	// parallel bounds the reviews at a time.
	parallel = 32
)

// guarded are the kinds that need a right of their own, since the ClusterRole view does not include them.
var guarded = []struct {
	group, kind, resource string
	// whole: the objects have no namespace.
	whole bool
}{
	{"", "Secret", "secrets", false},
	{"", "ServiceAccount", "serviceaccounts", false},
	{rbac, "Role", "roles", false},
	{rbac, "RoleBinding", "rolebindings", false},
	{rbac, "ClusterRole", "clusterroles", true},
	{rbac, "ClusterRoleBinding", "clusterrolebindings", true},
}

const rbac = "rbac.authorization.k8s.io"

// Ask is a question of a user.
type Ask struct {
	// Verb and Subresource are those of the right to changes.
	Verb, Subresource string
	// Again marks the repeated question of a stream, for which refusals hold longer.
	Again bool
	// Whole means that the right in the whole cluster is needed.
	Whole bool
	// Namespaces are the only ones of the question; nil means all, and objects without a namespace.
	Namespaces []string
}

// right returns the words for the right of the question.
func (a Ask) right() string {
	resource := Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return a.Verb + " " + resource + "." + Group
}

// Right is one right in one namespace. An empty namespace stands for the whole cluster.
type Right struct {
	Namespace, Verb, Group, Resource, Subresource string
}

// Review decides whether a user has a right. It must be safe for concurrent use. An error means that there
// is no decision.
type Review func(ctx context.Context, u user.Info, r Right) (granted bool, err error)

// Options configure a Reviewer.
type Options struct {
	// Review decides about one right; required.
	Review Review
	// Namespaces returns the namespaces that have data; required.
	Namespaces func(context.Context) ([]string, error)
	// Clock is the clock of the cache; nil means the system's.
	Clock clock.PassiveClock
}

// Reviewer finds scopes. It is safe for concurrent use.
type Reviewer struct {
	review     Review
	namespaces func(context.Context) ([]string, error)
	decisions  *decisions
	patience   time.Duration
	// turns has a token for each running review.
	turns chan struct{}
}

// New returns a Reviewer.
func New(o Options) *Reviewer {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Reviewer{
		review: o.Review, namespaces: o.Namespaces, decisions: newDecisions(o.Clock), patience: patience,
		turns: make(chan struct{}, parallel),
	}
}

// Unasked is the number of namespaces with data that were not reviewed, because there are more than
// MaxNamespaces. They are not permitted.
type Unasked int

// RefusedError is the error of a question without an answer: the caller may see nothing, or the API server has not
// decided.
type RefusedError struct {
	status int
	text   string
	err    error
}

// Error returns one sentence for the caller.
func (r *RefusedError) Error() string { return r.text }

// Status is the HTTP status: 403 or 503.
func (r *RefusedError) Status() int { return r.status }

// Unwrap returns the cause; nil for 403.
func (r *RefusedError) Unwrap() error { return r.err }

// Scope returns what the user may see for a question. A right to the whole cluster permits all namespaces, and
// objects without one. Otherwise each namespace with data needs the right, and that to list changes: so users are
// not asked for in all namespaces once more for each subresource. An empty result is a RefusedError.
func (r *Reviewer) Scope(ctx context.Context, u user.Info, a Ask) (store.Scope, Unasked, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience, errSlow)
	defer cancel()
	q := question{r, ctx, u, digest(u), a.Again}
	scope, unasked, err := q.scope(a)
	if err != nil {
		return store.Scope{Namespaces: []string{}}, 0, undecided(ctx, err)
	}
	if scope.Namespaces != nil && len(scope.Namespaces) == 0 {
		return scope, unasked, &RefusedError{status: http.StatusForbidden, text: forbidden(u, a)}
	}
	return scope, unasked, nil
}

// unread is the text for a question whose namespaces are not known. The error may name files, so it is for the log.
const unread = "nothing is shown, since the namespaces with changes cannot be read: see the log of the server"

var errSlow = fmt.Errorf("no answer within %s", patience)

// undecided returns the error of a question whose reviews failed: a RefusedError, or that of a caller who has gone.
func undecided(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		err = fmt.Errorf("%w: %w", errSlow, err)
	case cause != nil:
		return cause
	}
	if known := (*RefusedError)(nil); errors.As(err, &known) {
		return known
	}
	return &RefusedError{
		http.StatusServiceUnavailable,
		"the API server has not decided what you may see, so nothing is shown: " + object.OneLine(err.Error(), 300),
		err,
	}
}

// forbidden returns the sentence for a user without any permitted namespace.
func forbidden(u user.Info, a Ask) string {
	where := "any namespace with changes"
	switch {
	case a.Whole:
		return fmt.Sprintf("%s may not %s in the whole cluster", object.OneLine(u.GetName(), 256), a.right())
	case len(a.Namespaces) > 0:
		where = "namespace " + strings.Join(a.Namespaces, ", ")
	}
	return fmt.Sprintf("%s may not %s in %s: the ClusterRoles view, edit and admin include this right, "+
		"and lifeline-changes alone", object.OneLine(u.GetName(), 256), a.right(), object.OneLine(where, 256))
}

// question is one question of one user.
type question struct {
	*Reviewer
	ctx  context.Context //nolint:containedctx // lives as long as the call of Scope
	user user.Info
	id   userID
	// again is that of the question.
	again bool
}

func (q question) scope(a Ask) (store.Scope, Unasked, error) {
	right := Right{Verb: a.Verb, Group: Group, Resource: Resource, Subresource: a.Subresource}
	everywhere := false
	if a.Namespaces == nil {
		var err error
		if everywhere, err = q.granted(right); err != nil {
			return store.Scope{}, 0, err
		}
	}
	if a.Whole && !everywhere {
		return store.Scope{Namespaces: []string{}}, 0, nil
	}
	known := a.Namespaces
	if known == nil {
		var err error
		if known, err = q.namespaces(q.ctx); err != nil {
			return store.Scope{}, 0, &RefusedError{http.StatusServiceUnavailable, unread, err}
		}
	}
	known = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(known))),
		func(ns string) bool { return ns == "" })
	unasked := Unasked(max(0, len(known)-MaxNamespaces))
	known = known[:len(known)-int(unasked)]
	permitted := known
	if !everywhere {
		var err error
		if permitted, err = q.permitted(known, right, a.Namespaces == nil); err != nil {
			return store.Scope{}, 0, err
		}
	}
	var without []store.Guarded
	guards := 0
	for _, k := range guarded {
		if k.whole && !everywhere {
			continue // hidden, as all objects without a namespace
		}
		right := Right{Verb: "get", Group: k.group, Resource: k.resource}
		all, err := q.granted(right)
		if err != nil {
			return store.Scope{}, 0, err
		}
		if all {
			continue
		}
		guards++
		var except []string
		if !k.whole {
			if except, err = q.in(permitted, right); err != nil {
				return store.Scope{}, 0, err
			}
		}
		without = append(without, store.Guarded{Group: k.group, Kind: k.kind, Except: except})
	}
	switch {
	case everywhere && guards == 0:
		return store.Scope{}, 0, nil
	case everywhere:
		return store.Scope{Without: without}, unasked, nil
	}
	return store.Scope{Namespaces: permitted, Without: without}, unasked, nil
}

// list is the right to list changes.
var list = Right{Verb: "list", Group: Group, Resource: Resource}

// permitted returns the namespaces in which the user has the right. Of all namespaces, it asks only for those whose
// changes the user may list.
func (q question) permitted(known []string, right Right, all bool) ([]string, error) {
	if all && right != list {
		lists, err := q.granted(list)
		if err != nil {
			return nil, err
		}
		if !lists {
			if known, err = q.in(known, list); err != nil {
				return nil, err
			}
		}
	}
	return q.in(known, right)
}

// in returns the namespaces in which the user has the right. The result is not nil.
func (q question) in(namespaces []string, right Right) ([]string, error) {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	q.ctx = ctx
	granted := make([]bool, len(namespaces))
	next := make(chan int)
	var first error
	var once sync.Once
	var workers sync.WaitGroup
	for range min(parallel, len(namespaces)) {
		workers.Go(func() {
			for i := range next {
				of := right
				of.Namespace = namespaces[i]
				var err error
				if granted[i], err = q.granted(of); err != nil {
					once.Do(func() { first = err; cancel() })
				}
			}
		})
	}
	for i := range namespaces {
		next <- i
	}
	close(next)
	workers.Wait()
	if first != nil {
		return nil, first
	}
	out := []string{}
	for i, ns := range namespaces {
		if granted[i] {
			out = append(out, ns)
		}
	}
	return out, nil
}

// granted returns the decision about one right, from the cache or by a review.
func (q question) granted(right Right) (bool, error) {
	key := decisionKey{q.id, right}
	if granted, known := q.decisions.get(key, q.again); known {
		return granted, nil
	}
	select {
	case q.turns <- struct{}{}:
		defer func() { <-q.turns }()
	case <-q.ctx.Done():
		return false, context.Cause(q.ctx)
	}
	if granted, known := q.decisions.get(key, q.again); known { // another question has asked meanwhile
		return granted, nil
	}
	if err := q.ctx.Err(); err != nil {
		return false, context.Cause(q.ctx)
	}
	asked := q.decisions.now()
	granted, err := q.review(q.ctx, q.user, right)
	if err != nil {
		return false, err
	}
	q.decisions.put(key, granted, asked)
	return granted, nil
}
