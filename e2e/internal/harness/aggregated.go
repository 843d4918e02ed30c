// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rightsFile has the rules of the chart's ClusterRoles for users.
const rightsFile = "../../deploy/helm/lifeline/files/changes.yaml"

// Aggregate registers the API of a server at the API server for one test, with the ClusterRoles of the chart: who may
// view a namespace may view its changes. It returns the server's listener for the API server, a part of the section
// api of its configuration. The API server connects to it directly.
func (b *Bench) Aggregate(t testing.TB) string {
	t.Helper()
	address := Free(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	b.MustKubectl(t, fmt.Sprintf(registration, port), "apply", "-f", "-")
	t.Cleanup(func() { // an absent server would hold up the end of each namespace
		_, err := b.RunKubectl(context.Background(), nil, "-n", "default", "delete", "apiservice/v1alpha1.lifeline.dev",
			"service/lifeline-api")
		if err != nil {
			t.Error(err)
		}
	})
	b.MustKubectl(t, clusterRoles(t), "apply", "-f", "-")
	certFile, keyFile, _ := b.CertFiles(t)
	return fmt.Sprintf("  aggregation: {address: %q, frontProxy: true, tls: {certFile: %q, keyFile: %q}}\n",
		address, certFile, keyFile)
}

// CertFiles returns the files of a certificate for a server on loopback, of its key, and of its authority.
func (b *Bench) CertFiles(t testing.TB) (cert, key, ca string) {
	t.Helper()
	certText, keyText, caText, err := b.ServingCert()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, ca = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	for file, text := range map[string][]byte{cert: certText, key: keyText, ca: caText} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, ca
}

// AwaitAggregated waits until the API server hands requests on to the server.
func (b *Bench) AwaitAggregated(t testing.TB) {
	t.Helper()
	b.MustKubectl(t, "", "wait", "apiservice/v1alpha1.lifeline.dev", "--for=condition=Available", "--timeout=2m")
}

// registration has the place of a port on loopback, which only the name of an ExternalName Service can be.
const registration = `apiVersion: v1
kind: Service
metadata: {name: lifeline-api, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.lifeline.dev}
spec:
  group: lifeline.dev
  version: v1alpha1
  service: {name: lifeline-api, namespace: default, port: %s}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 1000
  versionPriority: 15
`

// clusterRoles returns the ClusterRoles of users, and the binding of that for callers without a cluster-wide right.
func clusterRoles(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(rightsFile)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		switch of, head := strings.CutSuffix(strings.TrimSuffix(line, "\n"), ":"); {
		case head && strings.Trim(of, " -") == of:
			name = of
		case !strings.HasPrefix(line, "#"):
			rules[name] += line
		}
	}
	const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s, labels: {%s}}
rules:
%s---
`
	const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lifeline-visible-changes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lifeline-visible-changes}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
`
	const toView = `rbac.authorization.k8s.io/aggregate-to-view: "true"`
	return fmt.Sprintf(role, "lifeline-changes", toView, rules["changes"]) +
		fmt.Sprintf(role, "lifeline-visible-changes", "", rules["visibleChanges"]) + binding
}
