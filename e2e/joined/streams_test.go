// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestStreams: each request that the API server proxies to the kubelet is exported as one trace,
// from the API server through the kubelet to containerd. The kubelet ignores the trace context, so
// Lifeline joins the parts. The trace links to that of the Pod.
func TestStreams(t *testing.T) {
	harness.Slow(t)
	backend := harness.NewBackend(t)
	s := bench.Server(t, harness.ServerOptions{
		OTLP:   backend.URL(),
		Config: "receivers: {" + spans() + ", " + auditLog() + "}\njoining: {window: 30s}\n",
	})
	s.Start(t)
	defer s.Stop(t)
	heard(t, s)

	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, "web", image(t)), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")
	settled(t, s, ns, "web", of(ns, "web"))
	change := s.TraceOf(t, ns, "web")

	kubectl := func(args ...string) { bench.MustKubectl(t, "", append([]string{"-n", ns}, args...)...) }
	pods := strings.Fields(
		bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"),
	)
	for range 3 { // like a script
		kubectl("exec", pods[0], "--", "/app", "ready")
	}
	kubectl("exec", pods[1], "--", "/app", "ready")
	kubectl("logs", pods[0])
	bench.Tunnel(t, ns, "pod/"+pods[0])

	// Each line has the subresource of the API server's request, and the path of the kubelet's.
	want := []string{
		"exec > /exec/" + ns + "/" + pods[0] + "/web",
		"exec > /exec/" + ns + "/" + pods[0] + "/web",
		"exec > /exec/" + ns + "/" + pods[0] + "/web",
		"exec > /exec/" + ns + "/" + pods[1] + "/web",
		"log > /containerLogs/" + ns + "/" + pods[0] + "/web",
		"portforward > /portForward/" + ns + "/" + pods[0],
	}
	slices.Sort(want)
	var got []string
	harness.Eventually(t, "the exported requests to the kubelet", func() bool {
		got = nil
		for _, answer := range backend.Spans(func(s *harness.Span) bool {
			return s.Service == "kubelet" && strings.Contains(s.Attributes["url.path"], ns)
		}) {
			got = append(got, answered(t, backend.Collector, change, answer)+" > "+answer.Attributes["url.path"])
		}
		slices.Sort(got)
		return len(got) >= len(want)
	})
	for _, s := range backend.Spans(func(s *harness.Span) bool {
		return strings.Contains(s.Attributes["http.target"], "command=")
	}) {
		if target := s.Attributes["http.target"]; strings.Contains(target, "ready") ||
			!strings.Contains(target, "command=REDACTED") {
			t.Errorf("http.target contains the command: %s", target)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests to the API server > to the kubelet:\n%s\nwant\n%s",
			strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// answered returns the subresource of the API server's request, the parent of a kubelet's span. It
// is "nothing" if the parent is another span or not inferred from time. answered also checks
// containerd's spans, and the link to the Pod's trace.
func answered(t *testing.T, c *harness.Collector, change *harness.Trace, answer *harness.Span) string {
	t.Helper()
	of := c.Spans(func(s *harness.Span) bool { return s.Trace == answer.Trace })
	at := slices.IndexFunc(of, func(s *harness.Span) bool { return s.ID == answer.Parent })
	if at < 0 || of[at].Service != "apiserver" || answer.Attributes["lifeline.evidence"] != "time" {
		return "nothing"
	}
	runtime := slices.ContainsFunc(of, func(s *harness.Span) bool { return s.Service == "containerd" })
	if logs := strings.HasPrefix(answer.Name, "/containerLogs/"); !runtime && !logs {
		t.Errorf("the trace of %s has no span of containerd", answer.Attributes["url.path"])
	}
	linked := slices.ContainsFunc(of, func(s *harness.Span) bool {
		return slices.ContainsFunc(s.Links, func(l harness.Link) bool { return l.Trace == change.ID })
	})
	if !linked {
		t.Errorf("the trace of %s has no link to the Pod's trace", answer.Attributes["url.path"])
	}
	return of[at].Name[strings.LastIndexByte(of[at].Name, '/')+1:]
}
