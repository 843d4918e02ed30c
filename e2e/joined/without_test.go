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

// writing is the number of additional writes. A component that samples one of a hundred traces then
// records some.
const writing = 300

// TestWithout: without some components' spans, a change is still one tree. It has the spans that an
// identity joins to it. `lifeline doctor` reports the missing spans, the reason, and the lines to
// add.
func TestWithout(t *testing.T) {
	harness.Slow(t)
	both := []string{spans(), auditLog()}
	there := finding{status: "ok", found: "there for"}
	for _, c := range []struct {
		name, reason string
		parts        []string
		tracing      map[lab.Component]lab.Tracing
		// want are the components with joined spans; nil if that depends on chance.
		want []string
		// code is doctor's exit code, and findings are its findings by check.
		code     int
		findings map[string]finding
	}{
		{
			name: "nothing", reason: "etcd follows the API server's sampling, not its own rate",
			parts: both, tracing: every(), want: []string{"apiserver", "containerd", "etcd", "kubelet"},
			findings: map[string]finding{
				"audit": {status: "ok", found: "writes in"}, "kube-apiserver": there, "etcd": there,
				"containerd": there, "kubelet": {status: "ok"},
			},
		},
		{
			name: "audit", reason: "only the audit log relates the API server's spans to objects",
			parts: []string{spans()}, tracing: every(), want: []string{"containerd", "kubelet"},
			findings: map[string]finding{
				"audit": {
					"advice", "the server does not receive it (receivers.audit); kube-apiserver keeps one",
					"receivers:\n  audit:\n",
				},
				"kube-apiserver": {status: "ok", found: "changes that a watch saw"}, "etcd": there, "containerd": there,
			},
		},
		{
			name: "kube-apiserver", reason: "etcd starts no trace by itself",
			parts: both, tracing: every(lab.Etcd, lab.Kubelet, lab.Containerd), want: []string{"containerd", "kubelet"},
			code: 3, findings: map[string]finding{
				"kube-apiserver": {"missing", "no span in", "kind: TracingConfiguration\nendpoint: " + receiver},
				"audit":          {status: "ok"}, "kubelet": {status: "ok"}, "containerd": there,
			},
		},
		{
			name: "kubelet", reason: "containerd's spans have the Pod's name",
			parts: both, tracing: every(lab.Etcd, lab.APIServer, lab.Containerd),
			want: []string{"apiserver", "containerd", "etcd"},
			code: 3, findings: map[string]finding{
				"kubelet": {
					"missing", "none of the 1 kubelet that were asked is told to",
					"tracing:\n  endpoint: " + receiver,
				},
				"kube-apiserver": there, "etcd": there, "containerd": {status: "ok"},
			},
		},
		{
			name: "etcd and containerd", reason: "their callers have spans of the calls",
			parts: both, tracing: every(lab.APIServer, lab.Kubelet), want: []string{"apiserver", "kubelet"},
			code: 3, findings: map[string]finding{
				"etcd":           {"missing", "no span in", "--enable-distributed-tracing=true"},
				"containerd":     {"missing", "no span in", "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + receiver},
				"kube-apiserver": there, "kubelet": {status: "ok"},
			},
		},
		{
			name: "99 %", reason: "the sampled spans are joined", parts: both, tracing: rate(10_000).Of(),
			code: anyCode, findings: map[string]finding{
				"kube-apiserver": {"advice", "it samples", "samplingRatePerMillion: 1000000"},
				"kubelet":        {found: "told to, at 1 % (1 kubelet asked)", add: "samplingRatePerMillion: 1000000"},
			},
		},
		{
			name: "100 %", reason: "with rate 0, a component records only traces that its caller started",
			parts: both, tracing: rate(0).Of(), want: []string{},
			code: 3, findings: map[string]finding{
				"kube-apiserver": {"missing", "no span in", "samplingRatePerMillion: 1000000"},
				"kubelet": {
					"missing", "told to, at 0 % (1 kubelet asked): " +
						"its endpoint is not where the server is, or the rate is too low",
					"samplingRatePerMillion: 1000000",
				},
			},
		},
		{ // the last case, because components without a receiver lose spans later
			name: "anything but a watch", reason: "a watch is the least input", tracing: every(), want: []string{},
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
			// A component without a receiver reconnects less and less often. Its late spans are
			// added to the trace.
			if len(c.want) > 0 {
				harness.Eventually(t, fmt.Sprintf("spans of %v in the trace", c.want), func() bool {
					tr = s.TraceOf(t, ns, "web")
					told := services(tr)
					return !slices.ContainsFunc(c.want, func(who string) bool { return told[who] == 0 })
				})
				connected(t, tr)
				t.Logf("these spans are in the trace %s after the apply", time.Since(applied).Round(time.Second))
			}
			got := slices.Sorted(maps.Keys(services(tr)))
			t.Logf("without %s: %d spans, those of components: %v", c.name, len(tr.Spans), services(tr))
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("%s: the trace has spans of %v, want %v", c.reason, got, c.want)
			}
			for _, span := range []string{"reconcile Deployment", "reconcile ReplicaSet", "reconcile Pod"} {
				if !slices.ContainsFunc(tr.Spans, func(s *harness.Span) bool { return s.Name == span }) {
					t.Errorf("%s: the trace has no span %q", c.reason, span)
				}
			}
			many(t, ns)
			examine(t, s, c.code, c.findings)
			reveals(t, s, ns, secret)
		})
	}
}

// many creates objects without a controller.
func many(t *testing.T, ns string) {
	t.Helper()
	var b strings.Builder
	for i := range writing {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %s, name: n%d}\n", ns, i)
	}
	bench.MustKubectl(t, b.String(), "create", "-f", "-")
}
