// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// writing is how many more writes there are, so that a component that samples one
// of a hundred traces records some.
const writing = 300

// TestWithout: whatever is missing, a change is one tree, and told by those who
// tell of it by an identity; and `lifeline doctor` says what is missing, why, and
// what to add.
func TestWithout(t *testing.T) {
	harness.Slow(t)
	both := []string{spans(), auditLog()}
	there := finding{status: "ok", found: "there for"}
	for _, c := range []struct {
		name, reason string
		parts        []string
		tracing      map[lab.Component]lab.Tracing
		// want are who tells of a change; nil if that is left to chance.
		want []string
		// code is doctor's, and findings what it says, by check.
		code     int
		findings map[string]finding
	}{
		{
			name: "nothing", reason: "etcd records what the API server does, whatever its own rate",
			parts: both, tracing: every(), want: []string{"apiserver", "containerd", "etcd", "kubelet"},
			findings: map[string]finding{
				"audit": {status: "ok", found: "writes in"}, "kube-apiserver": there, "etcd": there, "containerd": there, "kubelet": {status: "ok"},
			},
		},
		{
			name: "audit", reason: "nothing tells which of its requests the API server's spans are",
			parts: []string{spans()}, tracing: every(), want: []string{"containerd", "kubelet"},
			findings: map[string]finding{
				"audit":          {"advice", "the server does not receive it (receivers.audit); kube-apiserver keeps one", "receivers:\n  audit:\n"},
				"kube-apiserver": {status: "ok", found: "changes that a watch saw"}, "etcd": there, "containerd": there,
			},
		},
		{
			name: "kube-apiserver", reason: "etcd begins no trace by itself",
			parts: both, tracing: every(lab.Etcd, lab.Kubelet, lab.Containerd), want: []string{"containerd", "kubelet"},
			code: 3, findings: map[string]finding{
				"kube-apiserver": {"missing", "no span in", "kind: TracingConfiguration\nendpoint: " + receiver},
				"audit":          {status: "ok"}, "kubelet": {status: "ok"}, "containerd": there,
			},
		},
		{
			name: "kubelet", reason: "containerd names the Pod itself",
			parts: both, tracing: every(lab.Etcd, lab.APIServer, lab.Containerd), want: []string{"apiserver", "containerd", "etcd"},
			code: 3, findings: map[string]finding{
				"kubelet":        {"missing", "none of the 1 kubelet that were asked is told to", "tracing:\n  endpoint: " + receiver},
				"kube-apiserver": there, "etcd": there, "containerd": {status: "ok"},
			},
		},
		{
			name: "etcd and containerd", reason: "those who call them tell of the calls",
			parts: both, tracing: every(lab.APIServer, lab.Kubelet), want: []string{"apiserver", "kubelet"},
			code: 3, findings: map[string]finding{
				"etcd":           {"missing", "no span in", "--enable-distributed-tracing=true"},
				"containerd":     {"missing", "no span in", "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + receiver},
				"kube-apiserver": there, "kubelet": {status: "ok"},
			},
		},
		{
			name: "99 %", reason: "what is recorded is joined", parts: both, tracing: rate(10_000).Of(),
			code: anyCode, findings: map[string]finding{
				"kube-apiserver": {"advice", "it samples", "samplingRatePerMillion: 1000000"},
				"kubelet":        {found: "told to, at 1 % (1 kubelet asked)", add: "samplingRatePerMillion: 1000000"},
			},
		},
		{
			name: "100 %", reason: "a rate of 0 records what begins with somebody else only",
			parts: both, tracing: rate(0).Of(), want: []string{},
			code: 3, findings: map[string]finding{
				"kube-apiserver": {"missing", "no span in", "samplingRatePerMillion: 1000000"},
				"kubelet":        {"missing", "told to, at 0 % (1 kubelet asked): its endpoint is not where the server is, or the rate is too low", "samplingRatePerMillion: 1000000"},
			},
		},
		{ // the last: what components cannot send meanwhile they lose later
			name: "anything but a watch", reason: "it is the least", tracing: every(), want: []string{},
			findings: map[string]finding{
				"audit":          {"advice", "receivers.audit", "--audit-webhook-config-file="},
				"kube-apiserver": {"advice", "receivers.otlp", "receivers:\n  otlp:\n"},
				"etcd":           {"advice", "receivers.otlp", "--distributed-tracing-sampling-rate=0"},
				"kubelet":        {"advice", "receivers.otlp", "samplingRatePerMillion: 1000000"},
				"containerd":     {"advice", "receivers.otlp", "OTEL_EXPORTER_OTLP_ENDPOINT"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := bench.Reconfigure(t.Context(), func(o *lab.Options) { o.Tracing = c.tracing }); err != nil {
				t.Fatal(err)
			}
			s := serve(t, c.parts...)
			ns, ref := bench.Namespace(t), image(t)
			secret := hide(t, ns)
			bench.MustKubectl(t, deployment(ns, "web", ref), "apply", "-f", "-")
			applied := time.Now()
			tr := s.TraceOf(t, ns, "web")
			t.Logf("the trace is finished %s after the apply", time.Since(applied).Round(time.Second))
			connected(t, tr)
			// A component that was told of no receiver for a while tries to connect again
			// less and less often, and what it sends then is added to the trace.
			if len(c.want) > 0 {
				harness.Eventually(t, fmt.Sprintf("spans of %v in the trace", c.want), func() bool {
					tr = s.TraceOf(t, ns, "web")
					told := services(tr)
					return !slices.ContainsFunc(c.want, func(who string) bool { return told[who] == 0 })
				})
				connected(t, tr)
				t.Logf("they tell of it %s after the apply", time.Since(applied).Round(time.Second))
			}
			got := slices.Sorted(maps.Keys(services(tr)))
			t.Logf("without %s: %d spans, of others: %v", c.name, len(tr.Spans), services(tr))
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("%s: %v tell of it, want %v", c.reason, got, c.want)
			}
			for _, span := range []string{"reconcile Deployment", "reconcile ReplicaSet", "reconcile Pod"} {
				if !slices.ContainsFunc(tr.Spans, func(s *harness.Span) bool { return s.Name == span }) {
					t.Errorf("%s: there is no %s", c.reason, span)
				}
			}
			many(t, ns)
			examine(t, s, c.code, c.findings)
			reveals(t, s, ns, secret)
		})
	}
}

// many makes a number of objects that nobody reconciles.
func many(t *testing.T, ns string) {
	t.Helper()
	var b strings.Builder
	for i := range writing {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %s, name: n%d}\n", ns, i)
	}
	bench.MustKubectl(t, b.String(), "create", "-f", "-")
}
