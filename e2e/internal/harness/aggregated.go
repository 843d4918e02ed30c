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

// Aggregate returns the listener of a server for the API server, a part of the section api of its configuration, for
// one test. Once the server runs, register makes the API server hand requests on to it, and waits until it does: an
// API without an answer holds up the end of each namespace. The ClusterRoles are those of the chart: who may view a
// namespace may view its changes. The API server connects to the server directly.
func (b *Bench) Aggregate(t testing.TB) (config string, register func()) {
	t.Helper()
	address := Free(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	b.MustKubectl(t, clusterRoles(t), "apply", "-f", "-")
	certFile, keyFile, _ := b.CertFiles(t)
	config = fmt.Sprintf("  aggregation: {address: %q, frontProxy: true, tls: {certFile: %q, keyFile: %q}}\n",
		address, certFile, keyFile)
	return config, func() {
		t.Helper()
		t.Cleanup(func() {
			_, err := b.RunKubectl(context.Background(), nil, "-n", "default", "delete", "--ignore-not-found",
				"apiservice/v1alpha1.lifeline.dev", "service/lifeline-api")
			if err != nil {
				t.Error(err)
			}
		})
		b.MustKubectl(t, fmt.Sprintf(registration, port), "apply", "-f", "-")
		b.MustKubectl(t, "", "wait", "apiservice/v1alpha1.lifeline.dev", "--for=condition=Available", "--timeout=2m")
	}
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
