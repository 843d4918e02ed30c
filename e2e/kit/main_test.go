// SPDX-License-Identifier: Apache-2.0

// Package kit tests the operator kit on a real control plane with fake nodes. The kit adds no load
// to the API server, and causes no further reconciles. For every way to write, the requests and the
// stored writes are the same with and without it. Traces of a whole operator are left to
// e2e/operator.
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

// policy also logs reads, because the tests count all requests.
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
	// The tests spend most of their time waiting.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, AuditPolicy: policy}, &bench))
}
