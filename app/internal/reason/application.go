// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// application is the reason of an Argo CD Application whose last sync has ended: an error, its health,
// or a difference from its source.
func application(v *history.Version) Reason {
	if !kind.IsApplication(v.Kind) {
		return Reason{}
	}
	for _, c := range v.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			return about(ArgoCD, "reports "+c.Type, c)
		}
	}
	if c := refused(v, kind.Healthy); c != nil && c.Reason != "Progressing" {
		return about(ArgoCD, "is "+strings.ToLower(c.Reason), c)
	}
	if c := refused(v, kind.Synced); c != nil {
		return Reason{Category: ArgoCD, Text: "is out of sync with its source", For: "its next sync", Since: c.Since}
	}
	return Reason{}
}
