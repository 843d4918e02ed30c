// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// operator is an ordinary user. The API server does not trust its trace contexts.
const operator = "head-operator"

// head returns the manifest of a Head with two replicas.
func head(namespace, name, image string) string {
	return fmt.Sprintf(`
apiVersion: demo.lifeline.dev/v1alpha1
kind: Head
metadata: {namespace: %s, name: %s}
spec: {image: %q, replicas: 2}
`, namespace, name, image)
}

// ofHead accepts writes to a Head and to the objects below it.
func ofHead(namespace, name string) func(audit.Write) bool {
	below := of(namespace, name)
	return func(w audit.Write) bool {
		return below(w) ||
			w.Namespace == namespace && w.Name == name && slices.Contains([]string{"heads", "childas"}, w.Resource)
	}
}

// TestOperator: the client's request, the operator's spans, its requests and their work on the node
// are one tree. This holds for each of two concurrent changes. In the first case, the kinds are new
// to the server: it may list their first objects after the controllers have changed them.
func TestOperator(t *testing.T) {
	harness.Slow(t)
	for name, tc := range map[string]struct {
		reason string
		user   string
	}{
		"trusted":     {reason: "the API server continues the operator's trace"},
		"not trusted": {reason: "the API server starts a new trace with a link", user: operator},
	} {
		t.Run(name, func(t *testing.T) {
			o := headoperator.Options{Endpoint: receiver, Rate: lab.EveryTrace}
			if tc.user != "" {
				o.Kubeconfig = user(t, tc.user)
			}
			s := serve(t, spans(), auditLog())
			heard(t, s)
			op := headoperator.Start(t, bench, o) // installs the kinds
			ns := bench.Namespace(t)
			bench.MustKubectl(t, head(ns, "web", image(t))+"---"+head(ns, "other", image(t)), "apply", "-f", "-")
			traces := map[string]*harness.Trace{}
			for _, name := range []string{"web", "other"} {
				settled(t, s, ns, name, ofHead(ns, name))
			}
			op.Stop(t) // sends its last spans
			for _, name := range []string{"web", "other"} {
				tr := whole(t, s, ns, name, ofHead(ns, name))
				traces[name] = tr
				for _, span := range []string{
					"admission Head", "head-controller reconcile", "create ChildA",
					"childa-controller reconcile", "create Deployment",
					"reconcile Head", "reconcile ChildA", "reconcile Deployment",
					"reconcile ReplicaSet", "reconcile Pod", "readiness",
				} {
					if len(tr.Find(span, "")) == 0 {
						t.Errorf("%s: span %q is not in the trace of %s", tc.reason, span, name)
					}
				}
				if t.Failed() {
					t.Logf("%s:\n%s", name, harness.Names{}.Outline(tr))
				}
			}
			apart(t, traces)
		})
	}
}

// user adds an ordinary user with the operator's rights, and returns its kubeconfig.
func user(t *testing.T, name string) string {
	t.Helper()
	if err := bench.Reconfigure(t.Context(), func(o *lab.Options) {
		if !slices.ContainsFunc(o.Users, func(u lab.User) bool { return u.Name == name }) {
			o.Users = append(o.Users, lab.User{Name: name})
		}
	}); err != nil {
		t.Fatal(err)
	}
	role, err := os.ReadFile(filepath.Join("..", "..", "examples", "head-operator", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	bench.MustKubectl(t, string(role), "apply", "-f", "-")
	binding := strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: joined-USER}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: head-operator}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`, "USER", name)
	bench.MustKubectl(t, binding, "apply", "-f", "-")
	return bench.KubeconfigFor(name)
}
