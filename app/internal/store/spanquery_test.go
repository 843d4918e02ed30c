// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func TestSpanQueryFits(t *testing.T) {
	b := spantest.New("spans")
	closed := b.Deployment(nil, 1000, 3000)
	closed.Attributes = append(closed.Attributes, span.KeyActor.String("kubectl"))
	open := b.ReplicaSet(nil, 1000, -1)
	strange := b.ReplicaSet(nil, 1000, 2000)
	strange.Service = "a\xffb"
	foreign := b.Deployment(nil, 1000, 3000)
	foreign.Origin = &span.Origin{}
	foreign.Attributes = append(foreign.Attributes, span.KeyActor.String("kubectl"))
	attribute := func(key, value string) store.SpanQuery {
		return store.SpanQuery{Attributes: map[string]string{key: value}}
	}
	at := func(ms int) time.Time { return spantest.At(ms).Time }
	cases := map[string]struct {
		reason string
		span   *span.Span
		q      store.SpanQuery
		want   bool
	}{
		"everything":      {"no field, no condition", closed, store.SpanQuery{}, true},
		"service":         {"", closed, store.SpanQuery{Service: "deployment-controller"}, true},
		"other service":   {"", closed, store.SpanQuery{Service: "kubelet"}, false},
		"invalid service": {"as the list of services has it", strange, store.SpanQuery{Service: "a\uFFFDb"}, true},
		"operation":       {"", closed, store.SpanQuery{Operation: "reconcile Deployment"}, true},
		"other operation": {"", closed, store.SpanQuery{Operation: "reconcile"}, false},
		"since":           {"included", closed, store.SpanQuery{Since: at(1000)}, true},
		"since later":     {"the start counts", closed, store.SpanQuery{Since: at(1001)}, false},
		"until":           {"excluded", closed, store.SpanQuery{Until: at(1000)}, false},
		"until later":     {"", closed, store.SpanQuery{Until: at(1001)}, true},
		"longer":          {"included", closed, store.SpanQuery{Longer: 2 * time.Second}, true},
		"too short":       {"", closed, store.SpanQuery{Longer: 2*time.Second + 1}, false},
		"shorter":         {"included", closed, store.SpanQuery{Shorter: 2 * time.Second}, true},
		"too long":        {"", closed, store.SpanQuery{Shorter: 2*time.Second - 1}, false},
		"open":            {"it has a start", open, store.SpanQuery{Since: at(1000)}, true},
		"open, longer":    {"it has no duration", open, store.SpanQuery{Longer: 1}, false},
		"open, shorter":   {"it has no duration", open, store.SpanQuery{Shorter: time.Hour}, false},
		"namespace":       {"", closed, attribute(store.AttributeNamespace, "default"), true},
		"object":          {"", closed, attribute(store.AttributeObjectNamespace, "default"), true},
		"other namespace": {"", closed, attribute(store.AttributeNamespace, "other"), false},
		"name":            {"", closed, attribute(store.AttributeObjectName, "web"), true},
		"kind":            {"", closed, attribute(store.AttributeObjectKind, "Deployment"), true},
		"UID":             {"", closed, attribute(store.AttributeObjectUID, "uid-web"), true},
		"outcome":         {"", closed, attribute(store.AttributeOutcome, "converged"), true},
		"actor":           {"", closed, attribute(store.AttributeActor, "kubectl"), true},
		"foreign actor":   {"only of Lifeline's spans", foreign, attribute(store.AttributeActor, "kubectl"), false},
		"unknown":         {"a key that is not indexed", closed, attribute("k8s.pod.name", "web"), false},
		"two": {"all must match", closed, store.SpanQuery{Attributes: map[string]string{
			store.AttributeObjectKind: "Deployment", store.AttributeObjectName: "other",
		}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.q.Fits(tc.span); got != tc.want {
				t.Errorf("%s: %+v fits: %t, want %t", tc.reason, tc.q, got, tc.want)
			}
		})
	}
}
