// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

const rate = 1_000_000

// TestOneTrace: the apply of a Deployment is one trace. Each edge has a request, an annotation or
// an owner as evidence.
func TestOneTrace(t *testing.T) {
	s := serve(t)
	// The full rate includes the checks of the other rates. An ordinary user has the least rights.
	only, users := "", []string{"administrator", "user", "service account"}
	if testing.Short() {
		only, users = "full rate", []string{"user"}
	}
	for _, tracing := range []struct {
		name string
		on   map[lab.Component]lab.Tracing
	}{
		{"off", nil},
		{"rate 0", map[lab.Component]lab.Tracing{lab.APIServer: {Endpoint: receiver}}},
		{"full rate", map[lab.Component]lab.Tracing{lab.APIServer: {Endpoint: receiver, SamplingRatePerMillion: rate}}},
	} {
		if only != "" && tracing.name != only {
			continue
		}
		t.Run("tracing "+tracing.name, func(t *testing.T) {
			if err := bench.Reconfigure(t.Context(), func(o *lab.Options) { o.Tracing = tracing.on }); err != nil {
				t.Fatal(err)
			}
			install(t)
			for _, who := range users {
				for _, run := range []bool{false, true} {
					name := who
					if run {
						name += " with run"
					}
					t.Run(name, func(t *testing.T) { oneTrace(t, s, who, run, tracing.on) })
				}
			}
		})
	}
}

// TestLinksTheAPIServer: for an untrusted caller, the API server starts a new trace. If it sends
// that trace to another backend, our span of the write links to it.
func TestLinksTheAPIServer(t *testing.T) {
	harness.Slow(t)
	elsewhere, err := harness.NewCollector()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elsewhere.Stop)
	on := map[lab.Component]lab.Tracing{lab.APIServer: {Endpoint: elsewhere.Endpoint, SamplingRatePerMillion: rate}}
	if err := bench.Reconfigure(t.Context(), func(o *lab.Options) { o.Tracing = on }); err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	install(t)
	ns := bench.Namespace(t)
	r := harness.Parse(t, bench.Do(t, harness.Call{
		Args:       []string{"run", "-o", "json", "--", "kubectl", "apply", "-f", harness.File(t, deployment(ns))},
		Kubeconfig: as(t, ns, "user"),
	}))
	if r.Code != 0 || len(r.Traces) != 1 {
		t.Fatalf("exit code %d, %d traces\n%s", r.Code, len(r.Traces), r.Stderr)
	}
	tr := traceOf(t, s, ns)
	known(t, tr)
	writes := tr.Find("create Deployment", "web")
	if tr.ID != r.Traces[0].ID || len(writes) != 1 {
		t.Fatalf("trace of the server, want that of the command with one create Deployment:\n%s",
			harness.Names{}.Outline(tr))
	}
	links := slices.DeleteFunc(slices.Clone(writes[0].Links), func(l harness.Link) bool { return l.Why != "server" })
	if len(links) != 1 || links[0].Trace == tr.ID {
		t.Fatalf("the write has links %v, want one to the API server's trace", writes[0].Links)
	}
	harness.Eventually(t, "the linked span", func() bool {
		return len(
			elsewhere.Spans(func(s *harness.Span) bool { return s.Trace == links[0].Trace && s.ID == links[0].Span }),
		) == 1
	})
}

// serve starts a server with a webhook, and registers that with the API server. The flags are those
// of `lifeline webhook install`.
func serve(t *testing.T, flags ...string) *harness.Server {
	t.Helper()
	s, ca := serveAt(t, calls)
	register(t, ca, flags...)
	return s
}

// serveAt starts a server with its webhook at an address. It returns the file of the certificate
// authority.
func serveAt(t *testing.T, address string) (s *harness.Server, ca string) {
	t.Helper()
	cert, key, authority, err := bench.ServingCert()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"cert": cert, "key": key, "ca": authority} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = bench.Server(t, harness.ServerOptions{Config: fmt.Sprintf(`
webhook: {endpoint: {address: %q, tls: {certFile: %q, keyFile: %q}}}
receivers: {otlp: {grpc: {address: %q}}, audit: {logFile: %q}}
`, address, filepath.Join(dir, "cert"), filepath.Join(dir, "key"), receiver, bench.AuditLog())})
	s.Start(t)
	t.Cleanup(func() { s.Stop(t) })
	return s, filepath.Join(dir, "ca")
}

// register registers a webhook at the address calls until the test ends.
func register(t *testing.T, ca string, flags ...string) {
	t.Helper()
	lifelineCommand(
		t,
		append(
			[]string{"webhook", "install", "--url", "https://" + calls + "/admission", "--ca-file", ca},
			flags...)...)
	t.Cleanup(func() { lifelineCommand(t, "webhook", "uninstall") })
}

func lifelineCommand(t *testing.T, args ...string) {
	t.Helper()
	if r := bench.Do(t, harness.Call{Args: args}); r.Code != 0 {
		t.Fatalf("lifeline %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
}

// install waits until the API server calls the webhook.
func install(t *testing.T) {
	t.Helper()
	ns := bench.Namespace(t)
	i := 0
	harness.Eventually(t, "an object with a context from the webhook", func() bool {
		i++
		out := bench.MustKubectl(t, "", "-n", ns, "create", "configmap", fmt.Sprintf("probe-%d", i), "-o", "yaml")
		return strings.Contains(out, lifeline.ContextKey)
	})
}

// as returns the kubeconfig of a user, a service account or the administrator, with the right to
// edit objects in the namespace.
func as(t *testing.T, namespace, who string) string {
	t.Helper()
	switch who {
	case "user":
		bench.MustKubectl(
			t,
			"",
			"-n",
			namespace,
			"create",
			"rolebinding",
			"edit",
			"--clusterrole=edit",
			"--user="+alice,
		)
		return bench.KubeconfigFor(alice)
	case "service account":
		bench.MustKubectl(t, "", "-n", namespace, "create", "serviceaccount", "robot")
		bench.MustKubectl(
			t,
			"",
			"-n",
			namespace,
			"create",
			"rolebinding",
			"edit",
			"--clusterrole=edit",
			"--serviceaccount="+namespace+":robot",
		)
		token := strings.TrimSpace(bench.MustKubectl(t, "", "-n", namespace, "create", "token", "robot"))
		return bench.KubeconfigWith(t, func(c *harness.Config) {
			c.AuthInfos["robot"] = &clientcmdapi.AuthInfo{Token: token}
			c.Contexts[c.CurrentContext].AuthInfo = "robot"
		})
	}
	return bench.Kubeconfig()
}

func oneTrace(t *testing.T, s *harness.Server, who string, run bool, tracing map[lab.Component]lab.Tracing) {
	ns := bench.Namespace(t)
	kubeconfig, manifest := as(t, ns, who), harness.File(t, deployment(ns))
	apply := []string{"kubectl", "apply", "-f", manifest}
	var ran *harness.Trace
	if run {
		r := harness.Parse(
			t,
			bench.Do(
				t,
				harness.Call{Args: append([]string{"run", "-o", "json", "--"}, apply...), Kubeconfig: kubeconfig},
			),
		)
		if r.Code != 0 || len(r.Traces) != 1 {
			t.Fatalf("exit code %d, %d traces\n%s", r.Code, len(r.Traces), r.Stderr)
		}
		ran = r.Traces[0]
	} else {
		bench.MustKubectl(t, "", "--kubeconfig", kubeconfig, "apply", "-f", manifest)
	}
	tr := traceOf(t, s, ns)
	known(t, tr)
	if traces := s.Workloads(t, ns); len(traces) != 1 {
		t.Errorf("%d traces of one change:", len(traces))
		for _, tr := range traces {
			t.Logf("%s\n%s", tr.ID, harness.Names{}.Outline(tr))
		}
	}
	given(t, ns, tr)
	if ran != nil {
		known(t, ran)
		if ran.ID != tr.ID {
			t.Errorf("the command's trace is %s, the server's %s", ran.ID, tr.ID)
		}
		same(t, ran, tr)
	}
	if tracing[lab.APIServer].SamplingRatePerMillion == rate {
		harness.Eventually(t, "the API server's span of the write in the trace", func() bool {
			tr = traceOf(t, s, ns)
			return slices.ContainsFunc(tr.Spans, func(s *harness.Span) bool {
				return s.Service == "apiserver" &&
					(strings.HasPrefix(s.Name, "PATCH ") || strings.HasPrefix(s.Name, "POST "))
			})
		})
		known(t, tr)
	}
}

// traceOf waits until the trace of the Deployment is finished.
func traceOf(t *testing.T, s *harness.Server, ns string) (found *harness.Trace) {
	t.Helper()
	harness.Eventually(t, "a finished trace of the Deployment", func() bool {
		for _, sum := range s.List(t, url.Values{"namespace": {ns}}) {
			if sum.Open {
				continue
			}
			if tr := s.Trace(t, sum.TraceID); len(tr.Find("reconcile Deployment", "web")) > 0 &&
				len(tr.Find("reconcile Pod", "")) == 2 {
				found = tr
			}
		}
		return found != nil
	})
	return found
}

// known checks that a trace is one tree, and that the evidence of each edge is exact.
func known(t *testing.T, tr *harness.Trace) {
	t.Helper()
	ids, tops := map[string]bool{}, 0
	for _, s := range tr.Spans {
		ids[s.ID] = true
	}
	for _, s := range tr.Spans {
		how := s.Attributes["lifeline.evidence"]
		if !ids[s.Parent] {
			tops++
		}
		if s.Service == "apiserver" || !ids[s.Parent] && how == "" {
			continue
		}
		inside := strings.HasPrefix(s.Name, "reconcile ") || strings.HasPrefix(s.Name, "create ")
		if inside && !slices.Contains([]string{"request", "annotation", "owner"}, how) {
			t.Errorf("%s %s has evidence %q, want request, annotation or owner", s.Name, s.Object(), how)
		}
		if how == "time" || how == "unverified" {
			t.Errorf("%s %s has inexact evidence %q", s.Name, s.Object(), how)
		}
	}
	if tops != 1 {
		t.Errorf("the trace has %d root spans, want 1", tops)
	}
	if t.Failed() {
		t.Logf("the trace:\n%s", harness.Names{}.Outline(tr))
	}
}

// given checks the annotation of each object. It has the context of the object's reconciliation; a
// ReplicaSet has that of the Deployment.
func given(t *testing.T, ns string, tr *harness.Trace) {
	t.Helper()
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
		}
	}
	out := bench.MustKubectl(t, "", "-n", ns, "get", "deployments,replicasets,pods", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 4 {
		t.Fatalf("the namespace has %d objects, want 4", len(list.Items))
	}
	for _, o := range list.Items {
		if o.Kind == "Pod" {
			if _, err := time.Parse(time.RFC3339Nano, o.Metadata.Annotations["lifeline.dev/scheduled"]); err != nil {
				t.Errorf("Pod %s has no valid annotation lifeline.dev/scheduled: %v", o.Metadata.Name, err)
			}
		}
		kind, name := o.Kind, o.Metadata.Name
		if kind == "ReplicaSet" {
			kind, name = "Deployment", "web"
		}
		carried := o.Metadata.Annotations[lifeline.ContextKey]
		span := tr.Find("reconcile "+kind, name)
		if len(span) != 1 || carried != "00-"+tr.ID+"-"+span[0].ID+"-01" {
			t.Errorf("%s %s has context %q, want its reconciliation in trace %s",
				o.Kind, o.Metadata.Name, carried, tr.ID)
		}
	}
}

// same checks that the reconciliations in a, the trace of a command, are also in b, the server's,
// and have the same parents.
func same(t *testing.T, a, b *harness.Trace) {
	t.Helper()
	parents := map[string]string{}
	for _, s := range b.Spans {
		parents[s.ID] = s.Parent
	}
	for _, s := range a.Spans {
		if !strings.HasPrefix(s.Name, "reconcile ") {
			continue
		}
		if parent, told := parents[s.ID]; !told || parent != s.Parent {
			t.Errorf(
				"%s %s is span %s: its parent is %s in the command's trace, and %q in the server's",
				s.Name,
				s.Object(),
				s.ID,
				s.Parent,
				parent,
			)
		}
	}
}

func deployment(ns string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: registry/web:1}]
`, ns)
}
