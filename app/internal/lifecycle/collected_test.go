// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestCollected: the garbage collector removes an object whose owner is elsewhere or does not exist. The trace of
// the deletion has that reason.
func TestCollected(t *testing.T) {
	collector := func(w *observation.Write) {
		w.User = "system:serviceaccount:kube-system:generic-garbage-collector"
		w.Removes, w.ResourceVersion = true, 0
	}
	for name, tc := range map[string]struct {
		owner     string
		namespace string
		audit     bool
		want      string
	}{
		"elsewhere": {"parent", "other", true, "its owner ConfigMap other/parent is in another " +
			"namespace"},
		"elsewhere, without a log": {"parent", "other", false, "its owner ConfigMap other/parent is in another " +
			"namespace"},
		"missing":                {"none", "other", true, "its owner ConfigMap none does not exist"},
		"missing, without a log": {"none", "other", false, ""},
		"in its namespace":       {"parent", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("parent", ofKind("", "ConfigMap"), func(st *observation.State) {
				st.Reconciled = false
				if tc.namespace != "" {
					st.Namespace = tc.namespace
				}
			})
			s.wait(time.Minute)
			s.write("child", ofKind("", "ConfigMap"), func(st *observation.State) {
				st.Reconciled = false
				st.Owners = []object.Owner{{
					Kind: kind.ConfigMap.Kind, Name: tc.owner, UID: types.UID("uid-" + tc.owner),
				}}
			})
			s.wait(time.Minute)
			s.gone("child")
			if tc.audit {
				s.audited("child", "delete", collector)
			}
			traces := observe(s.seen).Traces(s.now().Add(time.Minute))
			if last := traces[len(traces)-1]; last.Reason != tc.want {
				t.Errorf("got %q in\n%s\nwant %q", last.Reason, outline(traces), tc.want)
			}
		})
	}
}
