// SPDX-License-Identifier: Apache-2.0

package components

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestStreams: requests that the API server hands on to the kubelet, and the
// kubelet to containerd.
func TestStreams(t *testing.T) {
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, image(t)), "apply", "-f", "-")
	settled(t, ns)
	calm(t)
	r := begin(t, ns)
	end := r.observe(t)
	bench.MustKubectl(t, "", "-n", ns, "exec", "deployment/web", "--", "/app", "ready")
	bench.MustKubectl(t, "", "-n", ns, "logs", "deployment/web")
	bench.Tunnel(t, ns, "deployment/web")
	execute(t, ns)
	end()
	r.end(t)
	r.save(t, "streams", false)

	all := r.read(t)
	for name, path := range map[string]string{
		"exec":        "/exec/{podNamespace}/{podID}/{containerName}",
		"log":         "/containerLogs/{podNamespace}/{podID}/{containerName}",
		"portforward": "/portForward/{podNamespace}/{podID}",
	} {
		asked := all.named("apiserver", "GET /api/v1/namespaces/{:namespace}/pods/{:name}/"+name)
		for _, s := range all.named("kubelet", path) {
			// Not even of a context that the client sends.
			if s.Parent != "" || len(s.Links) > 0 {
				t.Errorf(
					"the kubelet's %s has parent %q and links %+v, want a root that knows of nothing",
					path,
					s.Parent,
					s.Links,
				)
			}
		}
		if n := len(all.named("kubelet", path)); n != len(asked) || n == 0 {
			t.Errorf("%d spans %s of the kubelet, %d of the API server: want as many", n, name, len(asked))
		}
	}
}

// clientContext is that of a client that makes a request to a container.
const clientContext = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// execute runs a command in a Pod, as kubectl does but with a trace context,
// which the API server trusts.
func execute(t *testing.T, namespace string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	pod, _, _ := strings.Cut(
		bench.MustKubectl(t, "", "-n", namespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"),
		" ",
	)
	req, err := http.NewRequest(
		http.MethodGet,
		config.Host+"/api/v1/namespaces/"+namespace+"/pods/"+pod+"/exec?command=/app&command=ready&stdout=true",
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Connection":             "Upgrade",
		"Upgrade":                "websocket",
		"Sec-WebSocket-Version":  "13",
		"Sec-WebSocket-Key":      "dGhlIHNhbXBsZSBub25jZQ==",
		"Sec-WebSocket-Protocol": "v5.channel.k8s.io", "Traceparent": clientContext,
	} {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{TLSClientConfig: secure}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body) // until the command has ended
	if resp.StatusCode != http.StatusSwitchingProtocols || !strings.Contains(string(out), "200 OK") {
		t.Errorf("exec: %s, %q, %v", resp.Status, out, err)
	}
}
