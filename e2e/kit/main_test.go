// SPDX-License-Identifier: Apache-2.0

// Package kit tests, on a real control plane with fake nodes, that the operator
// kit is a fixpoint and costs the API server nothing: whatever way a reconciler
// writes, the same requests are made and the same writes stored as without the
// kit. What the traces of a whole operator look like is left to e2e/operator.
package kit

import (
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

// policy logs reads, too: each request counts here.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  resources:
  - group: coordination.k8s.io
    resources: [leases]
  - group: ""
    resources: [events, serviceaccounts/token, endpoints, pods, pods/status, pods/binding]
  - group: events.k8s.io
  - group: discovery.k8s.io
  - group: authentication.k8s.io
  - group: authorization.k8s.io
- level: Metadata
  verbs: [get, list, watch]
- level: RequestResponse
`

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	// The tests wait more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, AuditPolicy: policy}, &bench))
}
