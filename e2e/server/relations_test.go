// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// claimOfDatabase and neverMatching are relations of the configuration.
const (
	claimOfDatabase = `
- name: claim-of-database
  from: {group: relations.lifeline.test, kind: Database}
  to: {group: "", kind: PersistentVolumeClaim}
  match: >-
    to.metadata.labels['example.com/db'] == from.metadata.name &&
    to.metadata.namespace == from.metadata.namespace
`
	neverMatching = `
- name: never
  from: {group: relations.lifeline.test, kind: Database}
  to: {group: coordination.k8s.io, kind: Lease}
  match: from.spec.missing == to.metadata.name
`
)

// operator is a service account in a namespace that works for Databases.
type operator struct{ namespace, kubeconfig string }

func newOperator(t *testing.T, ns string) operator {
	t.Helper()
	apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: db-operator, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: db-operator, namespace: %[1]s}
rules:
  - {apiGroups: [""], resources: [persistentvolumeclaims], verbs: ["*"]}
  - {apiGroups: [relations.lifeline.test], resources: [databases, databases/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: db-operator, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: db-operator}
subjects: [{kind: ServiceAccount, name: db-operator, namespace: %[1]s}]
`, ns))
	token := strings.TrimSpace(bench.MustKubectl(t, "", "-n", ns, "create", "token", "db-operator"))
	return operator{ns, bench.KubeconfigWith(t, func(c *harness.Config) {
		c.AuthInfos = map[string]*api.AuthInfo{"db-operator": {Token: token}}
		for _, of := range c.Contexts {
			of.AuthInfo = "db-operator"
		}
	})}
}

// kubectl writes with the field manager of the operator.
func (o operator) kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	bench.MustKubectl(t, stdin, append([]string{"--kubeconfig", o.kubeconfig, "-n", o.namespace}, args...)...)
}

// claim creates a claim of Database main.
func (o operator) claim(t *testing.T, name string) {
	t.Helper()
	o.kubectl(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, labels: {example.com/db: main}}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`, name), "apply", "--server-side", "--field-manager=db-operator", "-f", "-")
}

// observed sets the status of Database main.
func (o operator) observed(t *testing.T, ready string) {
	t.Helper()
	o.kubectl(
		t,
		"",
		"patch",
		"database",
		"main",
		"--subresource=status",
		"--type=merge",
		"--field-manager=db-operator",
		"-p",
		fmt.Sprintf(`{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":%q,"reason":"Test",`+
			`"message":"m","lastTransitionTime":%q}]}}`, ready, time.Now().UTC().Format(time.RFC3339)),
	)
}

// TestDeclaredRelation: an operator's claim without an owner belongs to the change of its Database,
// by a relation of the configuration. Later claims have a link, also after a restart.
func TestDeclaredRelation(t *testing.T) {
	ns := bench.Namespace(t)
	apply(t, harness.CustomKind("Database", "relations.lifeline.test"))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if _, err := bench.RunKubectl(
			ctx,
			nil,
			"delete",
			"crd",
			"databases.relations.lifeline.test",
			"--wait=false",
		); err != nil {
			t.Logf("cannot delete the kind: %v", err)
		}
	})
	bench.MustKubectl(
		t,
		"",
		"wait",
		"--for=condition=Established",
		"crd/databases.relations.lifeline.test",
		"--timeout=4m",
	)
	op := newOperator(t, ns)
	s := serve(t, harness.ServerOptions{Config: "relations:" + claimOfDatabase + neverMatching})

	apply(t, fmt.Sprintf(`
apiVersion: relations.lifeline.test/v1
kind: Database
metadata: {name: main, namespace: %[1]s}
spec: {size: 1}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: other, namespace: %[1]s}
spec: {}
`, ns))
	op.observed(t, "False")
	op.claim(t, "data-0")
	op.observed(t, "True")
	of := awaitSpan(t, s, ns, "main", func(*harness.Span, *harness.Trace) bool { return true })
	database := of.Find("reconcile Database", "main")[0]
	awaitSpan(t, s, ns, "data-0", func(claim *harness.Span, tr *harness.Trace) bool {
		return tr.ID == of.ID && claim.Parent == database.ID && claim.Attributes["lifeline.evidence"] == "relation"
	})
	awaitSpan(t, s, ns, "main", func(sp *harness.Span, _ *harness.Trace) bool { return sp.Outcome() == "converged" })

	linked := func(name string) {
		t.Helper()
		op.claim(t, name)
		awaitSpan(t, s, ns, name, func(claim *harness.Span, tr *harness.Trace) bool {
			return tr.ID != of.ID && len(claim.Links) == 1 &&
				claim.Links[0] == harness.Link{Trace: of.ID, Span: database.ID, Why: "relation"}
		})
	}
	linked("data-1")
	said := bench.Exec(
		t,
		"doctor",
		"--server",
		"http://"+s.APIAddress(),
		"--telemetry",
		"http://"+s.TelemetryAddress(),
	).Stdout
	if want := "1 of 2 relations never matched: never (0 of "; !strings.Contains(said, want) {
		t.Errorf("doctor does not say %q:\n%s", want, said)
	}
	if !strings.Contains(said, " of Lease.coordination.k8s.io have a key") {
		t.Errorf("Leases, which a server does not watch by default, were not seen:\n%s", said)
	}
	if got := s.Metrics(t)[`lifeline_relation_matches_total{relation="claim-of-database"}`]; got != 2 {
		t.Errorf("%v matches, want 2", got)
	}

	s.Kill(t)
	s.Start(t)
	linked("data-2")
	s.Stop(t)
	s.Configure(t, "relations:"+claimOfDatabase)
	s.Start(t)
	s.AwaitLog(t, "the cluster is read again")
	op.claim(t, "data-3")
	awaitSpan(t, s, ns, "data-3", func(*harness.Span, *harness.Trace) bool { return true })
	if got := s.Metrics(t)[`lifeline_relation_matches_total{relation="claim-of-database"}`]; got != 4 {
		t.Errorf("%v matches after the change of the configuration, want 4", got)
	}
}

// awaitSpan waits for the span of an object's reconciliation, and returns its trace.
func awaitSpan(
	t *testing.T, s *harness.Server, ns, name string, is func(*harness.Span, *harness.Trace) bool,
) *harness.Trace {
	t.Helper()
	var found *harness.Trace
	harness.Eventually(t, "the span of "+name, func() bool {
		for _, tr := range s.Traces(t, ns) {
			for _, sp := range tr.Spans {
				if strings.HasPrefix(sp.Name, "reconcile ") && sp.Object() == name && is(sp, tr) {
					found = tr
					return true
				}
			}
		}
		return false
	})
	return found
}
