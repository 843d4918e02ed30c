// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// cordon is the field of a cordoned Node.
const cordon = "spec.unschedulable"

// Cordoned reports whether v is a cordoned Node.
func Cordoned(v *history.Version) bool {
	l := v.Field(cordon)
	return l != nil && l.Shown == "true" && kind.Node.Is(v.Kind)
}

// cordoned is the note about a Node that gets no new Pods.
func cordoned(v *history.Version) Reason {
	if !Cordoned(v) {
		return Reason{}
	}
	return Reason{
		Category: NodeCordoned, Note: true, Text: "is cordoned: the scheduler gives it no new Pods",
		For: "the end of its cordon", Fields: []Field{{Path: cordon}},
	}
}

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
