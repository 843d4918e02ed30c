// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strconv"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// annotationCertificate names the Certificate of a Secret.
const annotationCertificate = "cert-manager.io/certificate-name"

// issuing is the condition of a Certificate during an issuance, and after a failed one.
const issuing = "Issuing"

// issued returns the relation of a Secret to its Certificate, by the annotation of cert-manager;
// nothing for another object. An object with a controller has copies of its owner's annotations.
func issued(ref *object.Ref, owners []object.Owner, annotation func(string) string) []object.Relation {
	name := annotation(annotationCertificate)
	if name == "" || !kind.Secret.Is(ref.Kind) || object.ControllerOf(owners) != nil {
		return nil
	}
	return []object.Relation{{Type: object.Issued, To: kind.CertificateName(ref.Namespace, intern(name))}}
}

// issuanceOf returns the present or the last issuance of a Certificate. Its ID is the number of the
// revision that it makes. A failed issuance makes none, and the next one tries the same again.
func issuanceOf(status fields) observation.Revision {
	revision := number(status, "revision")
	r := observation.Revision{Phase: observation.RevisionApplied}
	switch c := ofType(items(status, "conditions"), issuing); {
	case raw(c, "status") == "True":
		revision, r.Phase = revision+1, observation.RevisionPending
	case raw(c, "status") == "False" && number(status, "failedIssuanceAttempts") > 0:
		revision, r.Phase = revision+1, observation.RevisionFailed
	}
	if revision > 0 {
		r.ID = strconv.FormatInt(revision, 10)
	}
	return r
}

// certificateProgress returns the verdict on a Certificate. It is ready during a renewal, too. An
// issuance ends when the Secret for the next private key is given up.
func certificateProgress(obj fields, s *observation.State) (observation.Progress, string) {
	c := s.Condition(issuing)
	switch {
	case c != nil && c.Status == "True":
		return observation.ProgressInProgress, "issuing: " + explain(c)
	case s.Revision != nil && s.Revision.Phase == observation.RevisionFailed:
		return observation.ProgressFailed, explain(c)
	case raw(sub(obj, "status"), "nextPrivateKeySecretName") != "":
		return observation.ProgressInProgress, "issuing"
	}
	return goals(&kind.Certificate, obj, s)
}

// ofType returns the condition of a type, or nil.
func ofType(conditions []any, typ string) fields {
	for _, c := range conditions {
		if m, _ := c.(fields); raw(m, "type") == typ {
			return m
		}
	}
	return nil
}
