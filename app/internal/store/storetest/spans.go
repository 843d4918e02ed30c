// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// searched returns the traces with a span that matches q, in the order of Search.
func searched(traces []*span.Trace, q store.SpanQuery) []trace.TraceID {
	first := func(t *span.Trace) time.Time {
		at := t.Spans[0].Start.Time
		for _, s := range t.Spans {
			if s.Start.Before(at) {
				at = s.Start.Time
			}
		}
		return at
	}
	var found []*span.Trace
	for _, t := range traces {
		if slices.ContainsFunc(t.Spans, func(s *span.Span) bool { return fits(s, q) }) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *span.Trace) int {
		return cmp.Or(first(b).Compare(first(a)), slices.Compare(b.ID[:], a.ID[:]))
	})
	var out []trace.TraceID
	for _, t := range found {
		out = append(out, t.ID)
	}
	return out[:min(len(out), store.PageLength(q.Limit))]
}

// fits reports whether a span has the properties of q, apart from its scope.
func fits(s *span.Span, q store.SpanQuery) bool {
	has := map[string]string{
		store.AttributeNamespace: s.Object.Namespace, store.AttributeObjectNamespace: s.Object.Namespace,
		store.AttributeObjectName: s.Object.Name, store.AttributeObjectKind: s.Object.Kind.Kind,
		store.AttributeObjectUID: string(s.Object.UID), store.AttributeOutcome: string(s.Outcome),
	}
	if s.IsReconciliation() && s.Origin == nil {
		has[store.AttributeActor] = insight.Attribute(s, span.KeyActor)
	}
	for key, value := range q.Attributes {
		if got, known := has[key]; !known || got != value {
			return false
		}
	}
	length := s.Duration(s.Start.Time)
	return (q.Service == "" || s.Service == q.Service) && (q.Operation == "" || s.Name == q.Operation) &&
		(q.Since.IsZero() || !s.Start.Before(q.Since)) && (q.Until.IsZero() || s.Start.Before(q.Until)) &&
		(q.Longer == 0 || !s.Open() && length >= q.Longer) && (q.Shorter == 0 || !s.Open() && length <= q.Shorter)
}

func testSearch(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r := reading(t, b)
	pod := b.Finished[10].Spans[2]
	attributes := func(key, value string) store.SpanQuery {
		return store.SpanQuery{Attributes: map[string]string{key: value}}
	}
	ago := func(days int) time.Time { return spantest.Epoch.Add(-time.Duration(days) * 24 * time.Hour) }
	for name, q := range map[string]store.SpanQuery{
		"all":          {},
		"limit":        {Limit: 3},
		"service":      {Service: "kubelet"},
		"limited":      {Service: "kubelet", Limit: 4},
		"operation":    {Service: "kubelet", Operation: span.NamePull},
		"no service":   {Operation: span.NamePull},
		"since":        {Since: ago(20)},
		"until":        {Service: "kubelet", Until: ago(20)},
		"narrow":       {Service: "kubelet", Since: pod.Start.Time, Until: pod.Start.Add(1)},
		"longer":       {Service: "kubelet", Operation: span.NamePull, Longer: 4 * time.Second},
		"shorter":      {Service: "kubelet", Operation: span.NamePull, Shorter: time.Second},
		"lengths":      {Longer: 4 * time.Second, Shorter: 5 * time.Second, Since: ago(25)},
		"namespace":    attributes(store.AttributeNamespace, "team-01"),
		"name":         attributes(store.AttributeObjectName, pod.Object.Name),
		"kind":         attributes(store.AttributeObjectKind, "Deployment"),
		"uid":          attributes(store.AttributeObjectUID, string(pod.Object.UID)),
		"outcome":      attributes(store.AttributeOutcome, "failed"),
		"actor":        attributes(store.AttributeActor, "kubelet"),
		"own spans":    {Service: "kubelet", Attributes: map[string]string{store.AttributeOutcome: "failed"}},
		"scope":        {Scope: store.Scope{Namespaces: []string{"team-01", "team-02"}}},
		"no namespace": {Scope: store.Scope{Namespaces: []string{""}}},
		"another scope": {
			Service: "kubelet", Scope: store.Scope{Namespaces: []string{"team-03"}}, Attributes: map[string]string{
				store.AttributeOutcome: "converged",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.Search(t.Context(), q)
			must(t, err)
			want := searched(permitted(r, b.Finished, q.Scope), q)
			if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || len(want) == 0 {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	for name, q := range map[string]store.SpanQuery{
		"unknown key":   attributes("http.method", "GET"),
		"one unknown":   {Attributes: map[string]string{"a": "b", store.AttributeObjectKind: "Pod"}},
		"other service": {Service: "nothing"},
		"no permission": {Scope: store.Scope{Namespaces: []string{}}},
		"other cluster": {Scope: store.Scope{Clusters: []string{"other"}}},
	} {
		if got, err := r.Search(t.Context(), q); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// validText returns s as an archive keeps it.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func testNames(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	b.Finished[4].Spans[0].Name = "text \xff"
	r := reading(t, b)
	for name, scope := range map[string]store.Scope{
		"all": {}, "scope": {Namespaces: []string{"team-01"}}, "no permission": {Namespaces: []string{}},
	} {
		services, operations := map[string]bool{}, map[string]bool{}
		for _, tr := range permitted(r, b.Finished, scope) {
			for _, s := range tr.Spans {
				services[validText(s.Service)] = true
				if fits(s, store.SpanQuery{Service: "kubelet"}) {
					operations[validText(s.Name)] = true
				}
			}
		}
		got, err := r.Services(t.Context(), scope)
		if d := gocmp.Diff(slices.Sorted(maps.Keys(services)), got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("%s: services: %v, -want +got:\n%s", name, err, d)
		}
		got, err = r.Operations(t.Context(), scope, "kubelet")
		if d := gocmp.Diff(slices.Sorted(maps.Keys(operations)), got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("%s: operations: %v, -want +got:\n%s", name, err, d)
		}
	}
}
