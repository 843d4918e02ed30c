// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// controlPlane is the reason of a Node, an APIService, a CustomResourceDefinition or a
// CertificateSigningRequest.
func controlPlane(v *history.Version, _ []*history.Event) Reason {
	if kind.CertificateSigningRequest.Is(v.Kind) {
		what := strings.TrimPrefix(v.ProgressMessage, "waiting for ")
		r := waits(what)
		if text := judge.Failure(v); text != "" {
			r.Text = text
		}
		r.Category = CertificateUnsigned
		return r
	}
	for _, of := range []struct {
		kind      kind.Kind
		condition string
		category  Category
		verb      string
	}{
		{kind.Node, "Ready", NodeNotReady, "is not ready"},
		{kind.APIService, "Available", APIServiceUnavailable, "is not available"},
		{kind.CustomResourceDefinition, "NamesAccepted", NotEstablished, "has names that are not accepted"},
		{kind.CustomResourceDefinition, "Established", NotEstablished, "is not established"},
	} {
		if !of.kind.Is(v.Kind) {
			continue
		}
		if c := v.Condition(of.condition); c != nil && c.Status != "True" {
			return about(of.category, of.verb, c)
		}
	}
	return Reason{}
}
