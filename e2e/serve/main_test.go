// SPDX-License-Identifier: Apache-2.0

// Package serve tests `lifeline serve` on a real control plane with fake nodes, with many kinds of
// faults.
package serve

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

// auditPolicy is the lab's policy with reads of Secrets in addition.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [get, list, watch]
  resources:
  - {group: "", resources: [secrets]}
- level: None
  verbs: [get, list, watch]
- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events, serviceaccounts/token]}
  - {group: events.k8s.io}
  - {group: authentication.k8s.io}
  - {group: authorization.k8s.io}
- level: RequestResponse
`

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 2, AuditPolicy: auditPolicy}, &bench))
}
