// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"testing"
)

// TestMutations: the event has the changes of mutating webhooks. One that cannot be read counts as an unknown change.
func TestMutations(t *testing.T) {
	e, err := decode([]byte(told("annotations", `{
		"mutation.webhook.admission.k8s.io/round_0_index_0":"{\"webhook\":\"a\",\"mutated\":true}",
		"patch.webhook.admission.k8s.io/round_0_index_0":`+
		`"{\"webhook\":\"a\",\"patch\":[{\"value\":1}],\"patchType\":\"JSONPatch\"}",
		"mutation.webhook.admission.k8s.io/round_0_index_1":"{\"webhook\":\"b\",\"mutated\":false}",
		"mutation.webhook.admission.k8s.io/round_0_index_2":"{"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%d %s", e.mutations, e.patches); got != `2 [[{"value":1}]]` {
		t.Errorf("got %s", got)
	}
}

// TestImageMutators: a configuration may have changed an image unless all its patches are known and name none.
func TestImageMutators(t *testing.T) {
	e, err := decode([]byte(told("annotations", `{
		"mutation.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"mirror\",\"mutated\":true}",
		"patch.webhook.admission.k8s.io/round_0_index_0":`+
		`"{\"configuration\":\"mirror\",\"patch\":[{\"path\":\"/spec/containers/0/image\"}]}",
		"mutation.webhook.admission.k8s.io/round_0_index_1":"{\"configuration\":\"labels\",\"mutated\":true}",
		"patch.webhook.admission.k8s.io/round_0_index_1":`+
		`"{\"configuration\":\"labels\",\"patch\":[{\"path\":\"/metadata/labels\"}]}",
		"mutation.webhook.admission.k8s.io/round_0_index_2":"{\"configuration\":\"idle\",\"mutated\":false}",
		"mutation.webhook.admission.k8s.io/round_0_index_3":"{\"configuration\":\"unlogged\",\"mutated\":true}"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.imageMutators()); got != "[mirror unlogged]" {
		t.Errorf("got %s", got)
	}
}
