// SPDX-License-Identifier: Apache-2.0

// Package components holds what kube-apiserver, etcd, kubelet and containerd
// tell of themselves by OpenTelemetry, each at full rate, on a real node. Its
// tests hold docs/foreign-spans.md true, and with
//
//	go test ./components -update
//
// make the recordings anew with which the joining of such spans is tested. They
// are of a Kubernetes that is pinned, so they run when that changes, by
// make e2e-components, and not with every other test.
package components

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// ann is an ordinary user, whose trace contexts the API server does not trust.
const ann = "ann"

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// collector gets the spans of all components.
	collector *harness.Collector

	update = flag.Bool("update", false, "write the recordings to "+recordings)
)

// auditPolicy is the lab's, and says besides who was connected to containers,
// and what was told in Events.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources:
  - group: coordination.k8s.io
    resources: [leases]
  - group: ""
    resources: [serviceaccounts/token]
  - group: authentication.k8s.io
  - group: authorization.k8s.io
- level: Metadata
  resources:
  - group: ""
    resources: [pods/exec, pods/attach, pods/portforward, pods/log]
- level: None
  verbs: [get, list, watch]
- level: Metadata
  resources:
  - group: ""
    resources: [secrets, configmaps, events]
  - group: events.k8s.io
- level: RequestResponse
`

// asked is the variable that asks for these tests.
const asked = "LIFELINE_E2E_COMPONENTS"

// queue lets the components keep more spans than the 2048 until they are sent,
// on a machine that is busy: what does not fit they drop without a word.
const queue = "65536"

func TestMain(m *testing.M) {
	flag.Parse()
	if !*update && os.Getenv(asked) == "" {
		fmt.Println(
			"SKIP: what the components tell changes with Kubernetes only: make e2e-components, or " + asked + "=1, holds it against the docs",
		)
		return
	}
	_ = os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", queue)
	os.Exit(withCollector(m))
}

func withCollector(m *testing.M) int {
	var err error
	if collector, err = harness.NewCollector(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer collector.Stop()
	return harness.Main(m, lab.Options{
		Nodes:       lab.NodesReal,
		AuditPolicy: auditPolicy,
		Users:       []lab.User{{Name: ann}},
		Tracing:     lab.Tracing{Endpoint: collector.Endpoint, SamplingRatePerMillion: lab.EveryTrace}.Of(),
	}, &bench)
}
