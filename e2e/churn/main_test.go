// SPDX-License-Identifier: Apache-2.0

// Package churn watches one `lifeline serve` while the Pods of a cluster are
// replaced over and over: whether what it takes stays level, and how much that
// is. `make test-all` does so for a minute on a small cluster, `make churn` for
// an hour on a large one.
package churn

import (
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// user is who lifeline is, so that the audit log tells its requests from all
// others.
const user = "lifeline"

// auditPolicy logs what lifeline asks for, and nothing else: the writes of an
// hour, with bodies, would fill the disk.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseComplete]
rules:
- level: Metadata
  users: [` + user + `]
  verbs: [watch]
- level: Metadata
  users: [` + user + `]
  omitStages: [RequestReceived, ResponseStarted]
- level: None
`

var (
	// bench is the cluster, size how large it is and how long it is churned.
	bench *harness.Bench
	size  scale
)

func TestMain(m *testing.M) {
	var err error
	if size, err = parseScale(os.Getenv(scaleVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(harness.MainSlow(m, lab.Options{
		Nodes: lab.NodesKWOK, NodeCount: size.nodes, AuditPolicy: auditPolicy, Users: []lab.User{{Name: user}},
		ExtraArgs: map[lab.Component][]string{
			// What expires does so within the run: it is level sooner.
			lab.APIServer: {"--event-ttl=15m"},
			// Hundreds of nodes that renew every 10 s would cost more than
			// the churn; each renews after a quarter of this.
			lab.KWOK:              {"--node-lease-duration-seconds=240"},
			lab.ControllerManager: {"--node-monitor-grace-period=10m", "--kube-api-qps=100", "--kube-api-burst=200"},
			lab.Scheduler:         {"--kube-api-qps=100", "--kube-api-burst=200"},
		},
	}, &bench))
}
