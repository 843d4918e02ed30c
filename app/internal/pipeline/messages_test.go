// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/mask"
)

// TestMessages: text has its values on a terminal only, unless the environment says otherwise.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		setting      string
		terminalOnly bool
		want         mask.Mode
	}{
		{"", false, mask.Masked},
		{"", true, mask.Keep},
		{"mask", true, mask.Masked},
		{"clean", true, mask.Strict},
		{"strict", false, mask.Strict},
		{"keep", false, mask.Keep},
		{"other", false, mask.Masked},
	} {
		m := newMessages(c.setting, c.terminalOnly)
		got := m.refusals.Messages.For(schema.GroupKind{Kind: "Pod"})
		if got != c.want || m.refusals.Whole != (c.want == mask.Keep) {
			t.Errorf("%q, terminal %t: got %s, whole %t", c.setting, c.terminalOnly, got, m.refusals.Whole)
		}
	}
}
