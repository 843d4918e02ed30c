// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/audit"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// image pushes a new image, so that the node has to pull it, and returns its reference.
func image(t *testing.T) string {
	t.Helper()
	seed := rand.Uint64()
	ref, err := bench.PushImage(t.Context(), fmt.Sprintf("web:%x", seed), testimage.Spec{
		Seed: seed, Padding: 1 << 20, Env: []string{"PORT=" + testimage.DefaultPort},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// deployment returns the manifest of a Deployment with two replicas.
func deployment(namespace, name, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: %[3]q}]
`, namespace, name, image)
}

// spansIn and auditIn are receivers in a configuration.
const (
	spansIn = "otlp: {grpc: {address: %q}}"
	auditIn = "audit: {logFile: %q}"
)

// serve starts a server with the receivers in parts, until the test ends.
func serve(t *testing.T, parts ...string) *harness.Server {
	t.Helper()
	config := ""
	if len(parts) > 0 {
		config = "receivers: {" + strings.Join(parts, ", ") + "}\n"
	}
	s := bench.Server(t, harness.ServerOptions{Config: config})
	s.Start(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

func spans() string { return fmt.Sprintf(spansIn, receiver) }

func auditLog() string { return fmt.Sprintf(auditIn, bench.AuditLog()) }

// requests returns the API server's spans of requests in a trace, by audit-id.
func requests(tr *harness.Trace) map[string]*harness.Span {
	out := map[string]*harness.Span{}
	for _, s := range tr.Spans {
		if s.Service == "apiserver" && s.Attributes["http.target"] != "" {
			out[s.Attributes["audit-id"]] = s
		}
	}
	return out
}

// of accepts writes to a Deployment, its ReplicaSets and Pods.
func of(namespace, name string) func(audit.Write) bool {
	return func(w audit.Write) bool {
		return w.Namespace == namespace && (w.Name == name || strings.HasPrefix(w.Name, name+"-")) &&
			slices.Contains([]string{"deployments", "replicasets", "pods"}, w.Resource)
	}
}

// writes returns the writes in the audit log that want accepts.
func writes(t *testing.T, want func(audit.Write) bool) []audit.Write {
	t.Helper()
	all, err := audit.Read(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(w audit.Write) bool { return !want(w) })
}

// due returns the writes that must be in the trace of a change: all except status updates of Pods
// that had long been ready. A trace is finished six seconds after its end, without later writes.
func due(all []audit.Write) []audit.Write {
	return slices.DeleteFunc(all, func(w audit.Write) bool { return w.Refresh() })
}

// connected checks that a trace is one tree.
func connected(t *testing.T, tr *harness.Trace) {
	t.Helper()
	if roots, orphans := tr.Roots(), tr.Orphans(); len(roots) != 1 || len(orphans) > 0 {
		t.Errorf(
			"trace %s has %d roots and %d orphans, want one tree; orphans: %v",
			tr.ID,
			len(roots),
			len(orphans),
			names(orphans),
		)
	}
}

func names(spans []*harness.Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Service+" "+s.Name)
	}
	return out
}

// services returns the number of joined spans in a trace, by service.
func services(tr *harness.Trace) map[string]int {
	out := map[string]int{}
	for _, s := range tr.Spans {
		if s.Attributes["lifeline.origin.trace_id"] != "" {
			out[s.Service]++
		}
	}
	return out
}

// TestOneTree: the trace of each of two concurrent changes has every write request to its objects,
// with the spans of the API server, etcd, the kubelet and containerd. It has no request of the
// other change.
func TestOneTree(t *testing.T) {
	t.Run("audit log", func(t *testing.T) { oneTree(t, serve(t, spans(), auditLog())) })
	t.Run("audit webhook", func(t *testing.T) {
		address := harness.Free(t)
		s := serve(t, spans(), fmt.Sprintf("audit: {webhook: {address: %q}}", address))
		if err := bench.Reconfigure(
			t.Context(),
			func(o *lab.Options) { o.AuditWebhook = "http://" + address },
		); err != nil {
			t.Fatal(err)
		}
		oneTree(t, s)
	})
}

// reconnecting is the longest pause between a component's attempts to connect, after a time without
// receiver. The component may lose spans in the pause.
const reconnecting = 5 * time.Minute

// heard waits until the server has received spans of all components.
func heard(t *testing.T, s *harness.Server) {
	t.Helper()
	for _, who := range []string{"apiserver", "containerd", "etcd", "kubelet"} {
		harness.Within(t, reconnecting, "spans of "+who, func() bool {
			var sources struct {
				Received struct{ Components []struct{ Name string } }
			}
			s.API(t, "sources", &sources)
			return slices.ContainsFunc(
				sources.Received.Components,
				func(c struct{ Name string }) bool { return c.Name == who },
			)
		})
	}
}

func oneTree(t *testing.T, s *harness.Server) {
	t.Helper()
	heard(t, s)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, "web", image(t))+"---"+deployment(ns, "other", image(t)), "apply", "-f", "-")
	traces := map[string]*harness.Trace{}
	for _, name := range []string{"web", "other"} {
		settled(t, s, ns, name, of(ns, name))
		traces[name] = whole(t, s, ns, name, of(ns, name))
	}
	apart(t, traces)
}

// settled waits until the trace of Deployment or Head name is finished, and the components' spans
// of it have arrived. These are a request for each of its writes in the audit log, and each call
// that starts a container.
func settled(t *testing.T, s *harness.Server, ns, name string, its func(audit.Write) bool) {
	t.Helper()
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Logf("%s has no spans of:\n%s", name, strings.Join(missing, "\n"))
			for id, tr := range s.Traces(t, ns) {
				t.Logf("%s:\n%s", id, harness.Names{}.Outline(tr))
			}
		}
	}()
	harness.Eventually(t, "all components' spans of "+name, func() bool {
		tr := s.TraceOf(t, ns, name)
		told := requests(tr)
		missing = nil
		for _, w := range due(writes(t, its)) {
			if told[w.AuditID] == nil {
				missing = append(
					missing,
					fmt.Sprintf(
						"%s %s/%s %s by %s, audit-id %s",
						w.Verb,
						w.Resource,
						w.Name,
						w.Subresource,
						w.UserAgent,
						w.AuditID,
					),
				)
			}
		}
		for _, call := range []string{"RunPodSandbox", "PullImage", "CreateContainer", "StartContainer"} {
			if !slices.ContainsFunc(
				tr.Spans,
				func(s *harness.Span) bool { return s.Service == "containerd" && strings.HasSuffix(s.Name, "/"+call) },
			) {
				missing = append(missing, call)
			}
		}
		return len(missing) == 0
	})
}

// whole returns the trace of Deployment or Head name. It checks that the trace is one tree, and has
// the API server's spans of its writes and of no others.
func whole(t *testing.T, s *harness.Server, ns, name string, its func(audit.Write) bool) *harness.Trace {
	t.Helper()
	tr := s.TraceOf(t, ns, name)
	connected(t, tr)
	told, truth := requests(tr), due(writes(t, its))
	missing := 0
	for _, w := range truth {
		if told[w.AuditID] == nil {
			missing++
			t.Errorf(
				"%s: the API server's span of %s %s/%s %s by %s is missing",
				name,
				w.Verb,
				w.Resource,
				w.Name,
				w.Subresource,
				w.UserAgent,
			)
		}
	}
	for _, w := range writes(t, func(w audit.Write) bool { return !its(w) }) {
		if told[w.AuditID] != nil {
			t.Errorf(
				"%s: %s %s/%s %s by %s is in the trace, but belongs to another change",
				name,
				w.Verb,
				w.Resource,
				w.Name,
				w.Subresource,
				w.UserAgent,
			)
		}
	}
	if len(truth) < 10 {
		t.Errorf("%s: %d writes are in the audit log, want at least 10", name, len(truth))
	}
	t.Logf(
		"%s: %d of %d writes have the API server's span; %d spans, those of components: %v",
		name,
		len(truth)-missing,
		len(truth),
		len(tr.Spans),
		services(tr),
	)
	for _, who := range []string{"apiserver", "etcd", "kubelet", "containerd"} {
		if services(tr)[who] == 0 {
			t.Errorf("%s: the trace has no span of %s", name, who)
		}
	}
	return tr
}

// apart checks that no joined span is in two traces.
func apart(t *testing.T, traces map[string]*harness.Trace) {
	t.Helper()
	ids := map[[2]string]string{}
	for name, tr := range traces {
		for _, s := range tr.Spans {
			from := s.Attributes["lifeline.origin.trace_id"]
			if from == "" {
				continue
			}
			key := [2]string{from, cmp.Or(s.Attributes["lifeline.origin.span_id"], s.ID)}
			if other := ids[key]; other != "" && other != name {
				t.Errorf("span %s %s is in both traces", s.Service, s.Name)
			}
			ids[key] = name
		}
	}
}
