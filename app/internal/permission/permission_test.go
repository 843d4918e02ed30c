// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var ana = &user.DefaultInfo{Name: "ana", Groups: []string{"shop-developers"}}

// cluster is an API server with rights that change, and a clock.
type cluster struct {
	*clocktesting.FakePassiveClock
	namespaces []string

	mu sync.Mutex
	// rights are those of each user, as words returns them.
	rights map[string]bool
	asked  []string
	down   error
}

func words(name string, r Right) string {
	return strings.TrimRight(fmt.Sprintf("%s %s %s.%s/%s in %s", name, r.Verb, r.Resource, r.Group, r.Subresource,
		r.Namespace), " ")
}

func newCluster(namespaces []string, rights ...string) *cluster {
	c := &cluster{
		FakePassiveClock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)),
		namespaces:       namespaces, rights: map[string]bool{},
	}
	for _, r := range rights {
		c.rights[r] = true
	}
	return c
}

func (c *cluster) reviewer() *Reviewer {
	return New(Options{Clock: c, Review: c.review, Namespaces: func(context.Context) ([]string, error) {
		return slices.Clone(c.namespaces), nil
	}})
}

func (c *cluster) review(_ context.Context, u user.Info, r Right) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return false, c.down
	}
	text := words(u.GetName(), r)
	c.asked = append(c.asked, text)
	return c.rights[text], nil
}

func (c *cluster) pass(d time.Duration) { c.SetTime(c.Now().Add(d)) }

// hidden returns the guards of a user with `get` of these kinds nowhere but in the given namespaces.
func hidden(except ...string) []store.Guarded {
	var out []store.Guarded
	for _, k := range inNamespaces() {
		out = append(out, store.Guarded{Group: k.group, Kind: k.kind, Except: append([]string{}, except...)})
	}
	return out
}

func TestScope(t *testing.T) {
	all := []string{"data", "shop", "web"}
	wide := []store.Guarded{{Group: rbac, Kind: "ClusterRole"}, {Group: rbac, Kind: "ClusterRoleBinding"}}
	get := func(where string) []string {
		return []string{
			"ana get secrets./ in" + where, "ana get serviceaccounts./ in" + where,
			"ana get roles." + rbac + "/ in" + where, "ana get rolebindings." + rbac + "/ in" + where,
		}
	}
	cases := map[string]struct {
		reason string
		rights []string
		ask    Ask
		want   store.Scope
		err    string
	}{
		"view in one namespace": {
			"view has no Secrets, Roles, RoleBindings and ServiceAccounts",
			[]string{"ana list changes.lifeline.dev/ in shop"}, Ask{Verb: "list"},
			store.Scope{Namespaces: []string{"shop"}, Without: hidden()}, "",
		},
		"admin in one namespace": {
			"the kinds are visible in that namespace only",
			append(get(" shop"), "ana list changes.lifeline.dev/ in shop", "ana list changes.lifeline.dev/ in web"),
			Ask{Verb: "list"},
			store.Scope{Namespaces: []string{"shop", "web"}, Without: hidden("shop")}, "",
		},
		"view everywhere": {
			"a right to the whole cluster includes objects without a namespace, such as Nodes",
			[]string{"ana get changes.lifeline.dev/why in"}, Ask{Verb: "get", Subresource: "why"},
			store.Scope{Without: append(hidden(), wide...)}, "",
		},
		"everything": {
			"an administrator", append(
				get(""), "ana list changes.lifeline.dev/ in", "ana get clusterroles."+rbac+"/ in",
				"ana get clusterrolebindings."+rbac+"/ in",
			), Ask{Verb: "list"},
			store.Scope{}, "",
		},
		"all but the roles of the cluster": {
			"each kind of RBAC has a right of its own", append(get(""), "ana list changes.lifeline.dev/ in"),
			Ask{Verb: "list"}, store.Scope{Without: wide}, "",
		},
		"a single Secret's right": {
			"a right in a namespace without changes does not count",
			append(get(" shop")[:1], "ana list changes.lifeline.dev/ in web"), Ask{Verb: "list"},
			store.Scope{Namespaces: []string{"web"}, Without: hidden()}, "",
		},
		"another verb": {
			"list is not watch", []string{"ana list changes.lifeline.dev/ in shop"}, Ask{Verb: "watch"},
			store.Scope{}, "ana may not watch changes.lifeline.dev in any namespace with changes",
		},
		"a subresource without the list": {
			"only namespaces whose changes one may list are asked for",
			[]string{"ana get changes.lifeline.dev/why in shop"}, Ask{Verb: "get", Subresource: "why"},
			store.Scope{}, "ana may not get changes/why.lifeline.dev in any",
		},
		"a subresource": {
			"", []string{
				"ana get changes.lifeline.dev/why in shop", "ana list changes.lifeline.dev/ in shop",
				"ana list changes.lifeline.dev/ in web",
			}, Ask{Verb: "get", Subresource: "why"},
			store.Scope{Namespaces: []string{"shop"}, Without: hidden()}, "",
		},
		"a subresource, with the list of all": {
			"", []string{"ana get changes.lifeline.dev/why in shop", "ana list changes.lifeline.dev/ in"},
			Ask{Verb: "get", Subresource: "why"},
			store.Scope{Namespaces: []string{"shop"}, Without: hidden()}, "",
		},
		"another subresource": {
			"each is a right of its own", []string{"ana get changes.lifeline.dev/ in shop"},
			Ask{Verb: "get", Subresource: "why"}, store.Scope{}, "ana may not get changes/why.lifeline.dev in any",
		},
		"one namespace": {
			"a question about one namespace has no more, whatever the rights",
			[]string{"ana list changes.lifeline.dev/ in", "ana list changes.lifeline.dev/ in shop"},
			Ask{Verb: "list", Namespaces: []string{"shop"}},
			store.Scope{Namespaces: []string{"shop"}, Without: hidden()}, "",
		},
		"one forbidden namespace": {
			"the API server is asked again: the caller may have come past it",
			[]string{"ana list changes.lifeline.dev/ in shop"},
			Ask{Verb: "list", Namespaces: []string{"web"}}, store.Scope{},
			"ana may not list changes.lifeline.dev in namespace web",
		},
		"the whole cluster": {
			"a namespace is not enough", []string{"ana get changes.lifeline.dev/sources in shop"},
			Ask{Verb: "get", Subresource: "sources", Whole: true}, store.Scope{},
			"ana may not get changes/sources.lifeline.dev in the whole cluster",
		},
		"no namespace's name": {
			"objects without a namespace are no namespace", []string{"ana list changes.lifeline.dev/ in"},
			Ask{Verb: "list", Namespaces: []string{""}}, store.Scope{}, "may not",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got, unasked, err := newCluster(all, tc.rights...).reviewer().Scope(t.Context(), ana, tc.ask)
			if tc.err != "" {
				var refusal *RefusedError
				if !errors.As(err, &refusal) || refusal.Status() != http.StatusForbidden ||
					!strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want 403 and %q", err, tc.err)
				}
				if got.Namespaces == nil {
					t.Error("the scope of an error permits everything")
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || unasked != 0 {
				t.Errorf("%v, %d unasked; -want +got:\n%s", err, unasked, diff)
			}
		})
	}
}

// TestCache: a grant holds for 30 s and a refusal for 10 s, and each right is reviewed once meanwhile.
func TestCache(t *testing.T) {
	c := newCluster([]string{"shop", "web"}, "ana list changes.lifeline.dev/ in shop")
	r := c.reviewer()
	const first = 1 + 2 + 4 + 4 // everywhere; each namespace; the guarded kinds, everywhere and in shop
	steps := []struct {
		reason  string
		passed  time.Duration
		reviews int
		want    []string
	}{
		{"the first question", 0, first, []string{"shop"}},
		{"all is known", 9 * time.Second, 0, []string{"shop"}},
		{"the refusals have ended", 2 * time.Second, first - 1, []string{"shop"}},
		{"and again, before the grant's end", 18 * time.Second, first - 1, []string{"shop"}},
		{"the grant has ended, too", 12 * time.Second, first - 4, nil},
	}
	for i, step := range steps {
		c.pass(step.passed)
		if i == 1 {
			delete(c.rights, "ana list changes.lifeline.dev/ in shop")
		}
		c.asked = nil
		got, _, _ := r.Scope(t.Context(), ana, Ask{Verb: "list"})
		if len(got.Namespaces) == 0 {
			got.Namespaces = nil
		}
		if diff := cmp.Diff(step.want, got.Namespaces); diff != "" || len(c.asked) != step.reviews {
			t.Errorf("%s: %d reviews, want %d: %q; -want +got:\n%s",
				step.reason, len(c.asked), step.reviews, c.asked, diff)
		}
	}
	c.asked = nil
	other := &user.DefaultInfo{Name: "ana"}
	if _, _, _ = r.Scope(t.Context(), other, Ask{Verb: "list"}); len(c.asked) == 0 {
		t.Error("the decisions of a user with other groups were used")
	}
}

// TestAgain: the repeated question of a stream reviews only grants. A revoked right is noticed, and a new one after
// five minutes.
func TestAgain(t *testing.T) {
	c := newCluster([]string{"a", "b", "shop", "web"}, "ana list changes.lifeline.dev/ in shop")
	r := c.reviewer()
	if _, _, err := r.Scope(t.Context(), ana, Ask{Verb: "list"}); err != nil {
		t.Fatal(err)
	}
	c.rights["ana list changes.lifeline.dev/ in web"] = true
	steps := []struct {
		passed  time.Duration
		reviews int
		want    []string
	}{
		{15 * time.Second, 0, []string{"shop"}},
		{16 * time.Second, 1, []string{"shop"}},
		{270 * time.Second, 5 + 4 + 2*4, []string{"shop", "web"}},
	}
	for _, step := range steps {
		c.pass(step.passed)
		c.asked = nil
		got, _, err := r.Scope(t.Context(), ana, Ask{Verb: "list", Again: true})
		if diff := cmp.Diff(step.want, got.Namespaces); diff != "" || err != nil || len(c.asked) != step.reviews {
			t.Errorf("%d reviews, want %d: %q; %v; -want +got:\n%s", len(c.asked), step.reviews, c.asked, err, diff)
		}
	}
	delete(c.rights, "ana list changes.lifeline.dev/ in shop")
	delete(c.rights, "ana list changes.lifeline.dev/ in web")
	c.pass(grantTime + time.Second)
	if got, _, err := r.Scope(t.Context(), ana, Ask{Verb: "list", Again: true}); err == nil {
		t.Errorf("got %v after the right was revoked", got.Namespaces)
	}
}

// TestUnasked: of more than MaxNamespaces, the others are not permitted, and counted.
func TestUnasked(t *testing.T) {
	c := newCluster(nil, "ana list changes.lifeline.dev/ in ns-0007", "ana list changes.lifeline.dev/ in ns-1001")
	for i := range MaxNamespaces + 5 {
		c.namespaces = append(c.namespaces, fmt.Sprintf("ns-%04d", i), fmt.Sprintf("ns-%04d", i))
	}
	scope, unasked, err := c.reviewer().Scope(t.Context(), ana, Ask{Verb: "list"})
	if err != nil || unasked != 5 || !slices.Equal(scope.Namespaces, []string{"ns-0007"}) {
		t.Errorf("got %v, %d unasked, %v", scope.Namespaces, unasked, err)
	}
	if len(c.asked) != 1+MaxNamespaces+2*len(inNamespaces()) {
		t.Errorf("%d reviews", len(c.asked))
	}
}

// TestUndecided: without a decision the answer is 503 and nothing is permitted.
func TestUndecided(t *testing.T) {
	c := newCluster([]string{"shop"}, "ana list changes.lifeline.dev/ in shop")
	c.down = errors.New("connection refused\nat once")
	scope, _, err := c.reviewer().Scope(t.Context(), ana, Ask{Verb: "list"})
	var refusal *RefusedError
	const want = "the API server has not decided what you may see, so nothing is shown: connection refused at once"
	if !errors.As(err, &refusal) || refusal.Status() != http.StatusServiceUnavailable || scope.Namespaces == nil ||
		err.Error() != want {
		t.Errorf("got %v, %v", scope, err)
	}

	slow := New(Options{
		Review: func(ctx context.Context, _ user.Info, _ Right) (bool, error) {
			<-ctx.Done()
			return true, ctx.Err()
		},
		Namespaces: func(context.Context) ([]string, error) { return c.namespaces, nil },
	})
	slow.patience = time.Millisecond
	_, _, err = slow.Scope(t.Context(), ana, Ask{Verb: "list"})
	if !errors.As(err, &refusal) || refusal.Status() != http.StatusServiceUnavailable ||
		!strings.Contains(err.Error(), "nothing is shown: no answer within 3s") {
		t.Errorf("slow: got %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := slow.Scope(gone, ana, Ask{Verb: "list"}); !errors.Is(err, context.Canceled) {
		t.Errorf("gone: got %v", err)
	}
}

// TestUnread: without the namespaces, nothing is shown. The text names no file of the server.
func TestUnread(t *testing.T) {
	c := newCluster(nil, "ana list changes.lifeline.dev/ in")
	damaged := errors.New("cannot list namespaces of archive /data/lifeline.db: disk I/O error")
	r := New(Options{Clock: c, Review: c.review, Namespaces: func(context.Context) ([]string, error) {
		return nil, damaged
	}})
	scope, _, err := r.Scope(t.Context(), ana, Ask{Verb: "list"})
	var refusal *RefusedError
	if !errors.As(err, &refusal) || refusal.Status() != http.StatusServiceUnavailable || scope.Namespaces == nil ||
		err.Error() != unread || !errors.Is(err, damaged) {
		t.Errorf("got %v, %v", scope, err)
	}
}

// TestNeverMore: a scope permits an object only if a review granted its namespace, or the whole cluster, at most 30
// seconds before, and the same for `get` of a guarded kind. Rights change, and questions come at any time.
func TestNeverMore(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 55))
		c := newCluster([]string{"a", "b", "c"})
		var lock sync.Mutex
		last := map[string]time.Time{} // of each right, the latest review that granted it
		r := New(Options{
			Clock: c,
			Review: func(ctx context.Context, u user.Info, right Right) (bool, error) {
				if seed%4 == 3 && right.Namespace == "b" {
					return true, errors.New("down")
				}
				granted, err := c.review(ctx, u, right)
				lock.Lock()
				defer lock.Unlock()
				if granted {
					last[words(u.GetName(), right)] = c.Now()
				} else {
					delete(last, words(u.GetName(), right))
				}
				return granted, err
			},
			Namespaces: func(context.Context) ([]string, error) { return c.namespaces, nil },
		})
		resources := []Right{{Verb: "list", Group: Group, Resource: Resource}, {Verb: "get", Resource: "secrets"}}
		for range 60 {
			right := resources[random.IntN(2)]
			right.Namespace = []string{"", "a", "b", "c"}[random.IntN(4)]
			name := []string{"ana", "ben"}[random.IntN(2)]
			c.rights[words(name, right)] = random.IntN(3) == 0
			c.pass(time.Duration(random.IntN(15)) * time.Second)
			scope, _, _ := r.Scope(t.Context(), &user.DefaultInfo{Name: name}, Ask{Verb: "list"})
			granted := func(right Right, ns string) bool {
				for _, right.Namespace = range []string{"", ns} {
					if at, ok := last[words(name, right)]; ok && c.Now().Sub(at) <= grantTime {
						return true
					}
				}
				return false
			}
			for _, ns := range []string{"", "a", "b", "c", "d"} {
				pod, secret := ref("Pod", ns), ref("Secret", ns)
				if scope.Permits(pod) && !granted(resources[0], ns) {
					t.Fatalf("seed %d: %s may see Pods in %q by %+v; granted: %v", seed, name, ns, scope, last)
				}
				if scope.Permits(secret) && (!granted(resources[1], ns) || !granted(resources[0], ns)) {
					t.Fatalf("seed %d: %s may see Secrets in %q by %+v; granted: %v", seed, name, ns, scope, last)
				}
			}
		}
	}
}

func ref(kind, namespace string) object.Ref {
	o := object.Ref{Namespace: namespace, Name: "x"}
	o.Kind.Kind = kind
	return o
}

// TestGuarded: the guards are those for which the archive has an index.
func TestGuarded(t *testing.T) {
	var got, want []string
	for _, k := range guarded {
		got = append(got, k.kind+"."+k.group)
	}
	for _, k := range store.GuardedKinds() {
		want = append(want, k.Kind+"."+k.Group)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// inNamespaces are the guarded kinds with namespaces.
func inNamespaces() (out []struct {
	group, kind, resource string
	whole                 bool
}) {
	for _, k := range guarded {
		if !k.whole {
			out = append(out, k)
		}
	}
	return out
}
