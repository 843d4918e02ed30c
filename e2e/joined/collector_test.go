// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/otelcol"
	"github.com/kube-lifeline/lifeline/lab"
)

// examples are the manifests with a Collector in front, as the docs show them.
var examples = filepath.Join("..", "..", "deploy", "collector")

// example is one of them: its certificates, and addresses of this machine in the
// place of a cluster's.
type example struct {
	name, certificates string
}

// open makes the certificates of an example as its user would.
func open(t *testing.T, name string) example {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("SKIP: there are no certificates without openssl: apt-get install openssl")
	}
	e := example{name: name, certificates: t.TempDir()}
	out, err := exec.CommandContext(
		t.Context(),
		filepath.Join(examples, "certificates.sh"),
		e.certificates,
		"IP:127.0.0.1",
	).CombinedOutput()
	if err != nil {
		t.Fatalf("certificates.sh: %v\n%s", err, out)
	}
	return e
}

// agent runs the Collector of the nodes, where the components send their spans.
func (e example) agent(t *testing.T, to string) *otelcol.Collector {
	t.Helper()
	return otelcol.Run(
		t,
		filepath.Join(examples, "agent", "collector.yaml"),
		receiver,
		"SEND_TO="+to,
		"CERTIFICATES="+filepath.Join(e.certificates, "sender"),
	)
}

// server starts a server with the receivers of the example's configuration. The
// test stops it.
func (e example) server(t *testing.T, address string, o harness.ServerOptions) *harness.Server {
	t.Helper()
	o.Config = e.configuration(t, address)
	s := bench.Server(t, o)
	s.Start(t)
	return s
}

// configuration is what the example's manifest says of receivers, and the audit
// log.
func (e example) configuration(t *testing.T, address string) string {
	t.Helper()
	text := bench.MustKubectl(t, "", "create", "--dry-run=client", "-o", `jsonpath={.data.config\.yaml}`, "-f",
		filepath.Join(examples, e.name, "lifeline.yaml"))
	_, receivers, ok := strings.Cut(text, "\nreceivers:\n")
	if !ok {
		t.Fatalf("example %s receives nothing:\n%s", e.name, text)
	}
	for _, listens := range []string{"address: :4317", "address: 127.0.0.1:14317"} {
		receivers = strings.ReplaceAll(receivers, listens, "address: "+address)
	}
	receivers = strings.ReplaceAll(receivers, "/certificates/", filepath.Join(e.certificates, "receiver")+"/")
	return fmt.Sprintf("receivers:\n%s\n  audit: {logFile: %q}\n", receivers, bench.AuditLog())
}

// change applies a Deployment, and checks that the trace of it in each server has
// all that the components tell.
func change(t *testing.T, servers ...*harness.Server) {
	t.Helper()
	for _, s := range servers {
		heard(t, s)
	}
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, "web", image(t)), "apply", "-f", "-")
	for _, s := range servers {
		told(t, s, ns)
	}
}

func told(t *testing.T, s *harness.Server, ns string) {
	t.Helper()
	settled(t, s, ns, "web", of(ns, "web"))
	var tr *harness.Trace
	// etcd's spans come by themselves, up to five seconds after the API server's.
	harness.Eventually(t, "spans of all components in the trace", func() bool {
		tr = s.TraceOf(t, ns, "web")
		return len(services(tr)) == len(lab.Traced())
	})
	connected(t, tr)
	t.Logf("%d writes; %d spans, of others: %v", len(writes(t, of(ns, "web"))), len(tr.Spans), services(tr))
}

// nothingLost checks that a Collector has given on all that it was given.
func nothingLost(t *testing.T, c *otelcol.Collector, times int) {
	t.Helper()
	var n map[string]int
	defer func() { t.Logf("the Collector counts %v", n) }()
	harness.Eventually(t, "the Collector having sent all", func() bool {
		n = c.Spans(t)
		return n["receiver_accepted_spans"] > 0 && n["exporter_sent_spans"] == times*n["receiver_accepted_spans"]
	})
	for _, bad := range []string{"receiver_refused_spans", "exporter_send_failed_spans", "exporter_enqueue_failed_spans"} {
		if n[bad] > 0 {
			t.Errorf("the Collector counts %d %s", n[bad], bad)
		}
	}
}

// TestCollectorOnNodes: deploy/collector/daemonset.
func TestCollectorOnNodes(t *testing.T) {
	harness.Slow(t)
	e := open(t, "daemonset")
	address := harness.Free(t)
	s := e.server(t, address, harness.ServerOptions{})
	agent := e.agent(t, address)
	change(t, s)
	nothingLost(t, agent, 1)
	s.Stop(t)
}

// TestCollectorSidecar: deploy/collector/sidecar.
func TestCollectorSidecar(t *testing.T) {
	harness.Slow(t)
	e := open(t, "sidecar")
	address, between := harness.Free(t), harness.Free(t)
	s := e.server(t, address, harness.ServerOptions{})
	sidecar := otelcol.Run(t, filepath.Join(examples, "sidecar", "collector.yaml"), between,
		"SEND_TO="+address, "CERTIFICATES="+filepath.Join(e.certificates, "receiver"))
	e.agent(t, between)
	change(t, s)
	nothingLost(t, sidecar, 1)
	s.Stop(t)
}

// TestCollectorGateway: deploy/collector/gateway. Each server has it all.
func TestCollectorGateway(t *testing.T) {
	harness.Slow(t)
	e := open(t, "gateway")
	first, second, between := harness.Free(t), harness.Free(t), harness.Free(t)
	one, other := e.server(t, first, harness.ServerOptions{}), e.server(t, second, harness.ServerOptions{})
	gateway := otelcol.Run(t, filepath.Join(examples, "gateway", "collector.yaml"), between,
		"SERVER_0="+first, "SERVER_1="+second, "CERTIFICATES="+e.certificates)
	e.agent(t, between)
	change(t, one, other)
	nothingLost(t, gateway, 2)
	one.Stop(t)
	other.Stop(t)
}

// TestCollectorKeepsWhatIsRefused: a server refuses spans while its disk is full,
// and cannot answer while it is away. The Collector keeps them meanwhile. The whole
// change happens in that time.
func TestCollectorKeepsWhatIsRefused(t *testing.T) {
	harness.Slow(t)
	const (
		refused = "Exporting failed. Will retry"
		full    = `lifeline_receiver_requests_refused_total{reason="full"}`
	)
	e := open(t, "daemonset")
	for name, c := range map[string]struct {
		begin func(*testing.T, *harness.Server)
		end   func(*testing.T, *harness.Server)
	}{
		"away": {
			begin: func(t *testing.T, s *harness.Server) { s.Kill(t) },
			end:   func(t *testing.T, s *harness.Server) { s.Start(t) },
		},
		"full disk": {
			begin: func(t *testing.T, s *harness.Server) {
				// A full disk does not stop SQLite at once: it overwrites its log
				// after a checkpoint. A new process has a new log without such room.
				s.Stop(t)
				s.Start(t)
				harness.Eventually(t, "the server refusing spans", func() bool {
					fill(t, filepath.Join(s.Dir, "filler"))
					return s.Metrics(t)[full] > 0
				})
			},
			end: func(t *testing.T, s *harness.Server) {
				if s.Ready(t) {
					t.Error("the server stores again before there is room")
				}
				if err := os.Remove(filepath.Join(s.Dir, "filler")); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := harness.Free(t)
			s := e.server(t, address, harness.ServerOptions{Dir: smallDisk(t)})
			agent := e.agent(t, address)
			change(t, s)
			ns := bench.Namespace(t)
			c.begin(t, s)
			bench.MustKubectl(t, deployment(ns, "web", image(t)), "apply", "-f", "-")
			bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")
			harness.Eventually(
				t,
				"the Collector being refused",
				func() bool { return strings.Contains(agent.Log(t), refused) },
			)
			c.end(t, s)
			told(t, s, ns)
			nothingLost(t, agent, 1)
			s.Stop(t)
		})
	}
}

// smallDisk is a directory with room for a short test.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("SKIP: cannot mount a small disk:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill appends to a file until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// TestCollectorManifests: the API server takes each example as it stands, and a
// Collector's configuration in it is the file that the tests above run.
func TestCollectorManifests(t *testing.T) {
	harness.Slow(t)
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if out, err := bench.RunKubectl(ctx, nil, "delete", "namespace", "lifeline", "--wait=false"); err != nil {
			t.Errorf("cannot clear up: %v\n%s", err, out)
		}
	})
	for name, collectors := range map[string][]string{
		"daemonset": {"agent"}, "sidecar": {"agent", "sidecar"}, "gateway": {"agent", "gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			var all struct {
				Items []struct {
					Kind     string
					Metadata struct{ Name string }
					Data     map[string]string
				}
			}
			text := bench.MustKubectl(
				t,
				"",
				"apply",
				"--dry-run=server",
				"-o",
				"json",
				"-k",
				filepath.Join(examples, name),
			)
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				t.Fatal(err)
			}
			for _, who := range collectors {
				want, err := os.ReadFile(filepath.Join(examples, who, "collector.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, o := range all.Items {
					found = found ||
						o.Kind == "ConfigMap" && strings.HasPrefix(o.Metadata.Name, "collector-"+who+"-") &&
							o.Data["collector.yaml"] == string(want)
				}
				if !found {
					t.Errorf("there is no ConfigMap with the configuration of the Collector %s", who)
				}
			}
		})
	}
}

// TestCollectorDocs: the docs show the configuration that the tests above run.
func TestCollectorDocs(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(examples, "agent", "collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "components.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(shown), "```yaml\n"+string(want)+"```\n") {
		t.Error("docs/guides/components.md does not show deploy/collector/agent/collector.yaml as it is")
	}
}
