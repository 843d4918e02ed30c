// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestNamedKinds compares our keys with OpenTelemetry's list.
func TestNamedKinds(t *testing.T) {
	known := map[attribute.Key]bool{}
	for _, k := range []attribute.Key{
		semconv.K8SNamespaceNameKey, semconv.K8SNodeNameKey, semconv.K8SNodeUIDKey, semconv.K8SPodNameKey,
		semconv.K8SPodUIDKey,
		semconv.K8SServiceNameKey, semconv.K8SServiceUIDKey, semconv.K8SPersistentvolumeNameKey,
		semconv.K8SPersistentvolumeUIDKey,
		semconv.K8SPersistentvolumeclaimNameKey, semconv.K8SPersistentvolumeclaimUIDKey,
		semconv.K8SReplicationControllerNameKey, semconv.K8SReplicationControllerUIDKey,
		semconv.K8SResourceQuotaNameKey, semconv.K8SResourceQuotaUIDKey,
		semconv.K8SDeploymentNameKey, semconv.K8SDeploymentUIDKey, semconv.K8SReplicaSetNameKey,
		semconv.K8SReplicaSetUIDKey,
		semconv.K8SStatefulSetNameKey, semconv.K8SStatefulSetUIDKey, semconv.K8SDaemonSetNameKey,
		semconv.K8SDaemonSetUIDKey,
		semconv.K8SJobNameKey, semconv.K8SJobUIDKey, semconv.K8SCronJobNameKey, semconv.K8SCronJobUIDKey,
		semconv.K8SHPANameKey, semconv.K8SHPAUIDKey,
	} {
		known[k] = true
	}
	own := map[attribute.Key]bool{
		KeyGroup: true, KeyVersion: true, KeyKind: true, KeyNamespace: true, KeyName: true, KeyUID: true,
		semconv.K8SNamespaceNameKey: true,
	}
	for _, k := range kind.All() {
		set := attributeSet{}
		set.object(object.Ref{Kind: k.Kind, Namespace: "n", Name: "o", UID: "u"})
		for _, kv := range set.list {
			if !own[kv.Key] && !known[kv.Key] {
				t.Errorf("%s: the semantic conventions have no key %s", k.Kind, kv.Key)
			}
			delete(known, kv.Key)
		}
	}
	for k := range known {
		t.Errorf("no kind has the key %s", k)
	}
}

// TestAttributesOnce: a later value of a key replaces the first, for any number of attributes.
func TestAttributesOnce(t *testing.T) {
	for _, n := range []int{2, few, few + 1, 3 * few} {
		var attrs []attribute.KeyValue
		for i := range n {
			attrs = append(attrs, attribute.Int(fmt.Sprint("key-", i), 0))
		}
		for i := range n {
			attrs = append(attrs, attribute.Int(fmt.Sprint("key-", i), i))
		}
		got := spanAttributes(&Span{Attributes: attrs}, nil)
		if len(got) != n || got[n-1] != attrs[2*n-1] {
			t.Errorf("%d keys, each twice: %d attributes, the last %v", n, len(got), got[len(got)-1])
		}
	}
}
