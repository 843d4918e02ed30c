// SPDX-License-Identifier: Apache-2.0

package real

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// chart is the folder of the Helm chart.
const chart = "../../deploy/helm/lifeline"

// helm runs helm in namespace lifeline, and returns its output.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := bench.RunHelmAs(t.Context(), "admin", append(args, "--namespace=lifeline")...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHelm installs the chart in a namespace with Pod Security restricted, tests, upgrades, rolls back and
// uninstalls it. Traces, the volume claim, the certificate's Secret, and what the user changed stay.
func TestHelm(t *testing.T) {
	harness.Slow(t)
	image, err := bench.PushImage(t.Context(), "lifeline:dev", testimage.Spec{Program: bench.Lifeline})
	if err != nil {
		t.Fatal(err)
	}
	volume(t, "lifeline-helm")
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	t.Cleanup(func() {
		// After a failure it is still there, and the deletion of the namespace would wait for it.
		kubectlAtEnd(t, "delete", "apiservice", "v1alpha1.lifeline.dev", "--ignore-not-found")
		kubectlAtEnd(t, "delete", "namespace", "lifeline", "--timeout=4m")
	})
	bench.MustKubectl(t, "", "label", "namespace", "lifeline", "pod-security.kubernetes.io/enforce=restricted")

	notes := helm(t, "install", "lifeline", chart, "-f", clusterValues(t, image), "--wait", "--timeout=4m")
	if !strings.Contains(notes, "kubectl -n lifeline delete pvc data-lifeline-0") {
		t.Errorf("the notes do not name the volume claim:\n%s", notes)
	}
	server := forward(t)
	ns := bench.Namespace(t)
	app, err := bench.PushImage(t.Context(), ns+":1", testimage.Spec{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	trace := change(t, server, ns, "create", "deployment", "app", "--image="+app).Traces[0].ID

	// There is no DNS here, so the test needs the Pod's address. The server's Pod is the same after it.
	uid := jsonpath(t, "pod/lifeline-0", "{.metadata.uid}")
	helm(t, "upgrade", "lifeline", chart, "--reuse-values", "--set", fmt.Sprintf("test.url=http://%s:7071/readyz",
		jsonpath(t, "pod/lifeline-0", "{.status.podIP}")))
	helm(t, "test", "lifeline")
	if jsonpath(t, "pod/lifeline-0", "{.metadata.uid}") != uid {
		t.Error("an upgrade that changes nothing of the server has restarted it")
	}

	bench.MustKubectl(t, "", "-n", "lifeline", "label", "statefulset/lifeline", "service/lifeline",
		"pvc/data-lifeline-0", "team=platform")
	notes = helm(t, "upgrade", "lifeline", chart, "--reuse-values", "--set", "config.log.level=debug",
		"--set", "webhook.enabled=true", "--set", "storage.size=20Gi", "--wait", "--timeout=4m")
	for _, want := range []string{
		"patch pvc data-lifeline-0", "lifeline doctor --probe-webhook lifeline/lifeline-webhook",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes have no %q:\n%s", want, notes)
		}
	}
	server = forward(t)
	kept(t, server, trace)
	harness.Eventually(t, "the Secret with the webhook's certificate", func() bool {
		return jsonpath(t, "secrets", "{.items[?(@.metadata.name=='lifeline-webhook')].metadata.uid}") != ""
	})
	secret := jsonpath(t, "secret/lifeline-webhook", "{.metadata.uid} {.data}")
	size := "{.spec.volumeClaimTemplates[0].spec.resources.requests.storage}"
	if got := jsonpath(t, "statefulset/lifeline", size); got != "10Gi" {
		t.Errorf("the claims are made with %s, want 10Gi", got)
	}

	helm(t, "upgrade", "lifeline", chart, "--reuse-values", "--set", "config.log.level=info", "--wait", "--timeout=4m")
	server = forward(t)
	kept(t, server, trace)
	if jsonpath(t, "secret/lifeline-webhook", "{.metadata.uid} {.data}") != secret {
		t.Error("an upgrade has changed the webhook's certificate")
	}
	for _, object := range []string{"statefulset/lifeline", "service/lifeline", "pvc/data-lifeline-0"} {
		if jsonpath(t, object, "{.metadata.labels.team}") != "platform" {
			t.Errorf("an upgrade has removed the user's label from %s", object)
		}
	}

	helm(t, "rollback", "lifeline", "1", "--wait", "--timeout=4m")
	if text := jsonpath(t, "configmap/lifeline", `{.data.config\.yaml}`); strings.Contains(text, "webhook:") {
		t.Errorf("the configuration after the rollback:\n%s", text)
	}
	server = forward(t)
	kept(t, server, trace)

	helm(t, "uninstall", "lifeline", "--wait", "--timeout=4m")
	bench.MustKubectl(t, "", "-n", "lifeline", "wait", "--for=delete", "pod/lifeline-0", "--timeout=4m")
	left := strings.Fields(bench.MustKubectl(t, "", "-n", "lifeline", "get", "-o", "name",
		"statefulset,pod,service,configmap,networkpolicy,serviceaccount,role,rolebinding,pvc,secret"))
	want := []string{
		"configmap/kube-root-ca.crt", "persistentvolumeclaim/data-lifeline-0", "secret/lifeline-api",
		"secret/lifeline-webhook",
		"serviceaccount/default",
	}
	left = slices.DeleteFunc(left, func(name string) bool { return name == "pod/lifeline-test" })
	if slices.Sort(left); !slices.Equal(left, want) {
		t.Errorf("uninstall leaves %v, want %v", left, want)
	}
	if roles := bench.MustKubectl(t, "", "get", "clusterrole,clusterrolebinding", "-o", "name", "-l",
		"app.kubernetes.io/name=lifeline"); roles != "" {
		t.Errorf("uninstall leaves %s", roles)
	}
}

// clusterValues writes the values for this cluster: the image, and an address of the API server for Pods, because
// the cluster has no kube-proxy.
func clusterValues(t *testing.T, image string) string {
	t.Helper()
	node := bench.MustKubectl(t, "", "get", "node", "-o", "jsonpath={.items[0].status.addresses[0].address}")
	repository, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	values, err := json.Marshal(map[string]any{
		"image": map[string]string{
			"repository": image[:strings.LastIndexByte(image, '/')+1] + repository, "tag": tag, "pullPolicy": "Always",
		},
		"hostAliases": []map[string]any{{"ip": node, "hostnames": []string{"kubernetes.default.svc"}}},
		"env": []map[string]string{
			{"name": "KUBERNETES_SERVICE_HOST", "value": "kubernetes.default.svc"},
			{
				"name":  "KUBERNETES_SERVICE_PORT",
				"value": relay(t, node, strings.TrimPrefix(bench.ServerURL(), "https://")),
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, values, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// jsonpath returns a field of an object in namespace lifeline.
func jsonpath(t *testing.T, object, path string) string {
	t.Helper()
	return bench.MustKubectl(t, "", "-n", "lifeline", "get", object, "-o", "jsonpath="+path)
}

// kept checks that the server still has a trace.
func kept(t *testing.T, server, trace string) {
	t.Helper()
	if r := ask(t, server, "trace", trace, "-o", "json"); r.Code != 0 {
		t.Errorf("the trace is lost: %s", r.Stderr)
	}
}
