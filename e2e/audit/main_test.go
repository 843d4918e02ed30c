// SPDX-License-Identifier: Apache-2.0

// Package audit makes recordings for the tests of the audit log's reader, on a
// real control plane with fake nodes: Lifeline's observations of some changes,
// and the API server's audit log at each level. With -update it writes them to
// the app module's testdata.
package audit

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite the recordings in the app module")

// policy logs each namespace at the level that it is named for.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  resources:
  - group: coordination.k8s.io
  - group: ""
    resources: [events]
  - group: events.k8s.io
- level: Metadata
  namespaces: [level-metadata]
- level: Request
  namespaces: [level-request]
- level: RequestResponse
`

func TestMain(m *testing.M) {
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, AuditPolicy: policy}, &bench))
}
