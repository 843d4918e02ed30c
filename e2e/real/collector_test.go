// SPDX-License-Identifier: Apache-2.0

package real

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/otelcol"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// TestCollectorInCluster applies deploy/collector. The kubelet and containerd send their spans to
// the Collector on their node's loopback. The Collector sends them to the server, which adds them
// to the trace of a change.
func TestCollectorInCluster(t *testing.T) {
	harness.Slow(t)
	lifeline, err := bench.PushImage(t.Context(), "lifeline:dev", testimage.Spec{Program: bench.Lifeline})
	if err != nil {
		t.Fatal(err)
	}
	program, err := otelcol.Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	collector, err := bench.PushImage(t.Context(), "collector:dev", testimage.Spec{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range []string{"daemonset", "sidecar"} {
		t.Run(example, func(t *testing.T) {
			listen := harness.Free(t)
			traced(t, listen)
			volume(t, "lifeline-"+example)
			certificates(t)
			install(t, lifeline, filepath.Join("collector", example), nearby(t, collector, listen))
			resolve(t)
			told(t)
		})
	}
}

// certificates creates the Secrets with the script of deploy/collector.
func certificates(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("SKIP: the certificates need openssl: apt-get install openssl")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(
		t.Context(),
		filepath.Join("..", "..", "deploy", "collector", "certificates.sh"),
		dir,
	).CombinedOutput(); err != nil {
		t.Fatalf("certificates.sh: %v\n%s", err, out)
	}
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	for _, who := range []string{"receiver", "sender"} {
		bench.MustKubectl(
			t,
			"",
			"-n",
			"lifeline",
			"create",
			"secret",
			"generic",
			"otlp-"+who,
			"--from-file="+filepath.Join(dir, who),
		)
	}
}

// nearby returns the kustomization of Collectors for this machine: their image, and free ports of
// loopback, because another test may use the default ones.
func nearby(t *testing.T, image, listen string) string {
	t.Helper()
	port := listen[strings.LastIndexByte(listen, ':')+1:]
	metrics := harness.Free(t)
	return fmt.Sprintf(`
  - target: {kind: DaemonSet}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/tcpSocket/port, value: %s}
      - op: add
        path: /spec/template/spec/containers/0/env
        value: [{name: LISTEN, value: %q}, {name: METRICS_PORT, value: %q}]
images:
  - {name: otel/opentelemetry-collector, newName: %q, newTag: dev}
`, port, listen, metrics[strings.LastIndexByte(metrics, ':')+1:], strings.TrimSuffix(image, ":dev"))
}

// resolve adds the server's address to the Collectors' hosts, because this cluster has no DNS and
// no kube-proxy.
func resolve(t *testing.T) {
	t.Helper()
	ip := bench.MustKubectl(t, "", "-n", "lifeline", "get", "pod", "lifeline-0", "-o", "jsonpath={.status.podIP}")
	bench.MustKubectl(
		t,
		"",
		"-n",
		"lifeline",
		"patch",
		"daemonset",
		"lifeline-collector-agent",
		"--type=json",
		"--patch",
		fmt.Sprintf(
			`[{"op": "add", "path": "/spec/template/spec/hostAliases", `+
				`"value": [{"ip": %q, "hostnames": ["lifeline-otlp.lifeline.svc"]}]}]`,
			ip,
		),
	)
	bench.MustKubectl(t, "", "-n", "lifeline", "rollout", "status", "daemonset/lifeline-collector-agent",
		"--timeout=4m")
}

// traced restarts the kubelet and containerd so that they send their spans to the address, until
// the test ends.
func traced(t *testing.T, to string) {
	t.Helper()
	var before map[lab.Component]lab.Tracing
	if err := bench.Reconfigure(t.Context(), func(o *lab.Options) {
		before = o.Tracing
		o.Tracing = lab.Tracing{Endpoint: to, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.Kubelet, lab.Containerd)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bench.Reconfigure(context.Background(), func(o *lab.Options) { o.Tracing = before }); err != nil {
			t.Error(err)
		}
	})
}

// told creates a Deployment, and waits until its trace has spans of the kubelet and containerd.
func told(t *testing.T) {
	t.Helper()
	server := forward(t)
	ns := bench.Namespace(t)
	app, err := bench.PushImage(t.Context(), ns+":1", testimage.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	id := change(t, server, ns, "create", "deployment", "app", "--image="+app).Traces[0].ID
	who := map[string]int{}
	defer func() { t.Logf("spans of components: %v", who) }()
	harness.Eventually(t, "spans of the kubelet and containerd in the trace", func() bool {
		clear(who)
		for _, s := range harness.Parse(t, ask(t, server, "trace", id, "-o", "json")).Traces[0].Spans {
			if s.Attributes["lifeline.origin.trace_id"] != "" {
				who[s.Service]++
			}
		}
		return who["kubelet"] > 0 && who["containerd"] > 0
	})
}
