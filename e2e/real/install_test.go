// SPDX-License-Identifier: Apache-2.0

package real

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// TestInstall runs lifeline install on an empty cluster, and again after changes of the user, which stay.
func TestInstall(t *testing.T) {
	harness.Slow(t)
	image, err := bench.PushImage(t.Context(), "lifeline:dev", testimage.Spec{Program: bench.Lifeline})
	if err != nil {
		t.Fatal(err)
	}
	lifeline := func(args ...string) string {
		t.Helper()
		r := bench.Do(t, harness.Call{Args: append([]string{"install", "--image=" + image}, args...)})
		if r.Code != 0 {
			t.Fatalf("lifeline install %v: exit code %d\n%s", args, r.Code, r.Stderr)
		}
		return r.Stdout
	}
	const created = `namespace/lifeline created
serviceaccount/lifeline created
clusterrole.rbac.authorization.k8s.io/lifeline created
clusterrolebinding.rbac.authorization.k8s.io/lifeline created
clusterrole.rbac.authorization.k8s.io/lifeline-extra created
clusterrolebinding.rbac.authorization.k8s.io/lifeline-extra created
clusterrole.rbac.authorization.k8s.io/lifeline-callers created
clusterrolebinding.rbac.authorization.k8s.io/lifeline-callers created
role.rbac.authorization.k8s.io/lifeline-api created
rolebinding.rbac.authorization.k8s.io/lifeline-api created
clusterrole.rbac.authorization.k8s.io/lifeline-changes created
clusterrole.rbac.authorization.k8s.io/lifeline-visible-changes created
clusterrolebinding.rbac.authorization.k8s.io/lifeline-visible-changes created
configmap/lifeline created
service/lifeline created
service/lifeline-api created
networkpolicy.networking.k8s.io/lifeline created
statefulset.apps/lifeline created
serviceaccount/lifeline-discovery created
role.rbac.authorization.k8s.io/lifeline-discovery created
rolebinding.rbac.authorization.k8s.io/lifeline-discovery created
clusterrole.rbac.authorization.k8s.io/lifeline-discovery created
clusterrolebinding.rbac.authorization.k8s.io/lifeline-discovery created
rolebinding.rbac.authorization.k8s.io/lifeline-discovery created
service/lifeline-discovery created
poddisruptionbudget.policy/lifeline-discovery created
networkpolicy.networking.k8s.io/lifeline-discovery created
deployment.apps/lifeline-discovery created
apiservice.apiregistration.k8s.io/v1alpha1.lifeline.dev created
`
	if got, want := lifeline("--dry-run"), strings.ReplaceAll(created, "created", "created (dry run)"); got != want {
		t.Errorf("lifeline install --dry-run prints\n%s\nwant\n%s", got, want)
	}
	volume(t, "lifeline-install")
	t.Cleanup(func() {
		// Its Pods go with the namespace, whose deletion would wait for it.
		kubectlAtEnd(t, "delete", "apiservice", "v1alpha1.lifeline.dev")
		kubectlAtEnd(t, "delete", "clusterrole,clusterrolebinding", "-l",
			"app.kubernetes.io/name in (lifeline, lifeline-discovery)")
		kubectlAtEnd(t, "-n", "kube-system", "delete", "rolebinding", "lifeline-discovery")
		kubectlAtEnd(t, "delete", "namespace", "lifeline", "--timeout=4m")
	})
	if got := lifeline(); !strings.HasPrefix(got, created) ||
		!strings.Contains(got, "  kubectl -n lifeline rollout status statefulset/lifeline\n") {
		t.Errorf("lifeline install prints\n%s\nwant\n%s", got, created)
	}
	node := bench.MustKubectl(t, "", "get", "node", "-o", "jsonpath={.items[0].status.addresses[0].address}")
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"hostAliases": []map[string]any{{"ip": node, "hostnames": []string{"kubernetes.default.svc"}}},
		"containers": []map[string]any{{"name": "lifeline", "env": []map[string]string{
			{"name": "KUBERNETES_SERVICE_HOST", "value": "kubernetes.default.svc"},
			{
				"name":  "KUBERNETES_SERVICE_PORT",
				"value": relay(t, node, strings.TrimPrefix(bench.ServerURL(), "https://")),
			},
		}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	bench.MustKubectl(t, "", "-n", "lifeline", "patch", "statefulset", "lifeline", "-p", string(patch))
	bench.MustKubectl(t, "", "-n", "lifeline", "set", "resources", "statefulset/lifeline", "--limits=memory=900Mi")
	bench.MustKubectl(t, "", "-n", "lifeline", "rollout", "status", "statefulset/lifeline", "--timeout=4m")
	server := forward(t)
	ns := bench.Namespace(t)
	app, err := bench.PushImage(t.Context(), ns+":1", testimage.Spec{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	trace := change(t, server, ns, "create", "deployment", "app", "--image="+app).Traces[0].ID

	got := lifeline("--storage=20Gi")
	for _, want := range []string{
		"configmap/lifeline configured\n",
		`kept .spec.template.spec.containers[name="lifeline"].resources.limits.memory: conflict with "kubectl-set"`,
		"The volume claims keep their size, 10Gi.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the second lifeline install prints no %q:\n%s", want, got)
		}
	}
	if got := lifeline("--storage=20Gi"); strings.Contains(got, "configured") {
		t.Errorf("a repeated lifeline install changes something:\n%s", got)
	}
	bench.MustKubectl(t, "", "-n", "lifeline", "rollout", "status", "statefulset/lifeline", "--timeout=4m")
	limit := "{.spec.template.spec.containers[0].resources.limits.memory}"
	if got := jsonpath(t, "statefulset/lifeline", limit); got != "900Mi" {
		t.Errorf("the limit is %s, want that of the user, 900Mi", got)
	}
	kept(t, forward(t), trace)
}

// TestPathToWebhook: the control plane of this cluster reaches no Service, because there is no kube-proxy, but a
// server on its own machine.
func TestPathToWebhook(t *testing.T) {
	harness.Slow(t)
	address := harness.Free(t)
	s := bench.Server(t, harness.ServerOptions{Config: "webhook:\n  endpoint: {address: \"" + address + "\"}\n" +
		"  certificate: {managed: true, names: [127.0.0.1]}\n"})
	s.Start(t)
	probe := func(to string) harness.Result {
		t.Helper()
		return bench.Do(t, harness.Call{Args: []string{"doctor", "--probe-webhook", to}})
	}
	harness.Eventually(t, "a way to the webhook, found by lifeline doctor", func() bool {
		return strings.Contains(probe("https://"+address).Stdout, "an API server has reached https://"+address)
	})
	if r := probe("https://" + harness.Free(t)); r.Code != 3 || !strings.Contains(r.Stdout, "connection refused") {
		t.Errorf("lifeline doctor: exit code %d, want 3 and the reason:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	r := probe("default/kubernetes-none")
	if r.Code != 3 || !strings.Contains(r.Stdout, `service "kubernetes-none" not found`) {
		t.Errorf("lifeline doctor: exit code %d, want 3 and the reason:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if left := bench.MustKubectl(t, "", "get", "mutatingwebhookconfigurations", "-o", "name"); left != "" {
		t.Errorf("lifeline doctor leaves %s", left)
	}
	s.Stop(t)
}
