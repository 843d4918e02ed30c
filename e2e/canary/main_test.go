// SPDX-License-Identifier: Apache-2.0

// Package canary puts a recognisable value into each confidential place of a cluster, and has it quoted in every known
// way. Then it searches all data that Lifeline stores, sends and prints.
package canary

import (
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// receiver is the address of a test's server for the spans of components.
	receiver string
)

func TestMain(m *testing.M) {
	if os.Getenv(writerEnv) != "" {
		os.Exit(writerMain()) // `lifeline run` started this
	}
	var err error
	if receiver, err = harness.FreeAddress(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, lab.Options{
		Nodes: nodes(), Tracing: traced(), AuditPolicy: auditPolicy,
	}, &bench))
}

// auditPolicy logs all writes with their bodies, apart from those of custom resources.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events, serviceaccounts/token]}
  - {group: events.k8s.io}
  - {group: authentication.k8s.io}
  - {group: authorization.k8s.io}
- {level: Metadata, resources: [{group: canary.example.com}]}
- {level: RequestResponse}
`

// traced has the components send all their spans to a test's server.
func traced() map[lab.Component]lab.Tracing {
	tracing := lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}
	if os.Getuid() != 0 {
		return tracing.Of(lab.Etcd, lab.APIServer)
	}
	return tracing.Of()
}
