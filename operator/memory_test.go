// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// above is an earlier context, and full a desired state.
var (
	above = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 1}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	full = supply.State{"data": map[string]any{"a": "1"}}
)

// encoded returns the annotations of a child of above.
func encoded() map[string]string {
	child := lifeline.Child{Identity: lifeline.Identity{Kind: "ConfigMap", Name: "child"}, Digest: full.Digest()}
	return lifeline.Default.Encode(lifeline.Derive(above, child), baggage.Baggage{})
}

func configMap(uid types.UID, version string, annotations map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version, Annotations: annotations},
	}
}

// TestHostileSizesAreNotRemembered checks that large annotations are not stored. 16,384 of them
// would take gigabytes.
func TestHostileSizesAreNotRemembered(t *testing.T) {
	m, key := newMemory(), objectKey{schema.GroupKind{Kind: "ConfigMap"}, client.ObjectKey{Name: "child"}}
	hostile := map[string]string{lifeline.BaggageKey: strings.Repeat("x", 200_000)}
	m.note(key, configMap("uid-1", "5", hostile), full, hostile)
	got, ok := m.of(key)
	if !ok || got.carried != nil || !got.blank || got.version != "5" {
		t.Errorf("stored = %t, blank = %t, version %q, %d annotations", ok, got.blank, got.version, len(got.carried))
	}
	small := encoded()
	m.note(key, configMap("uid-1", "6", small), full, small)
	if got, _ := m.of(key); got.blank || len(got.carried) != len(small) {
		t.Errorf("a context of normal size is not stored: %v", got.carried)
	}
}

// TestNamesakesInheritNothing checks that the digest sent to a deleted object is not used for a new
// object with the same name.
func TestNamesakesInheritNothing(t *testing.T) {
	m, key := newMemory(), objectKey{schema.GroupKind{Kind: "ConfigMap"}, client.ObjectKey{Name: "child"}}
	m.keep(key, written{uid: "uid-1", version: "5", sent: 7, carried: encoded()})
	m.note(key, configMap("uid-1", "6", nil), full, nil)
	if got, _ := m.of(key); got.sent != 7 {
		t.Errorf("the same object: sent = %v", got.sent)
	}
	m.note(key, configMap("uid-2", "9", nil), full, nil)
	if got, _ := m.of(key); got.sent != 0 || got.uid != "uid-2" {
		t.Errorf("another object: sent = %v, UID %s", got.sent, got.uid)
	}
}
