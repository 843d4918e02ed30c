// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
)

// quietTime is more than the time after which a server ends the change of an object without a convergence
// signal.
const quietTime = 4 * time.Second

// aggregated are changes of objects of an aggregated API with a separate storage. The audit log of the
// API server lacks their answers, so that of the aggregated API's server is the judge.
var aggregated = []scenario{
	{
		name: "An object of an aggregated API, by three people",
		play: func(s *stage) {
			s.apply(userA, addon.Flunder("{name: one}", "first"))
			s.settle()
			s.as(userB, "patch", "flunder/one", "--type=merge", "-p", `{"spec":{"reference":"second"}}`)
			s.settle()
			s.as(userC, "label", "flunder/one", "team=c")
			s.settle()
			s.as(userA, "delete", "flunder/one")
		},
		want: []string{
			"user-a create Flunder one converged",
			"user-b update Flunder one converged",
			"user-c update Flunder one converged",
			"user-a delete Flunder one deleted",
		},
	},
	{
		name: "An object of an aggregated API owns a ConfigMap",
		play: func(s *stage) {
			s.apply(userA, addon.Flunder("{name: one}", "first"))
			uid := s.MustKubectl(s.t, "", "-n", s.ns, "get", "flunder/one", "-o", "jsonpath={.metadata.uid}")
			s.settle()
			time.Sleep(quietTime - settled) // until then, the change of a Flunder is open
			s.apply(userB, `apiVersion: v1
kind: ConfigMap
metadata:
  name: below
  ownerReferences: [{apiVersion: wardle.example.com/v1alpha1, kind: Flunder, name: one, uid: `+uid+`}]
`)
			s.settle()
			s.as(userC, "delete", "flunder/one")
			s.await("delete", "configmap/below")
		},
		want: []string{
			"user-a create Flunder one converged",
			"user-b create ConfigMap below converged",
			"user-c delete Flunder one deleted: delete ConfigMap",
		},
	},
}
