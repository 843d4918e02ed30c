// SPDX-License-Identifier: Apache-2.0

// Package components checks docs/foreign-spans.md against the OpenTelemetry spans
// of kube-apiserver, etcd, kubelet and containerd, each at full rate, on a real
// node. With
//
//	go test ./components -update
//
// it renews the recordings for the tests of the joining of spans. The recordings
// only depend on the pinned version of Kubernetes. So make e2e-components runs
// these tests after a change of that version; other targets do not.
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

// auditPolicy is the lab's policy, with connections to containers and Events in
// addition.
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
			"SKIP: what the components tell changes with Kubernetes only: make e2e-components, or " +
				"" + asked + "=1, holds it against the docs",
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
