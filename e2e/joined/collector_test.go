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

// examples is the folder of the manifests with a Collector in front of the server, as in the docs.
var examples = filepath.Join("..", "..", "deploy", "collector")

// configurations is the folder of the Collectors' configurations in the Helm chart.
var configurations = filepath.Join("..", "..", "deploy", "helm", "lifeline", "files", "collector")

// example is one of the examples, with addresses of this machine instead of a cluster. certificates
// is the folder of its certificates.
type example struct {
	name, certificates string
}

// open makes the certificates of an example with its script.
func open(t *testing.T, name string) example {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("SKIP: the certificates need openssl: apt-get install openssl")
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

// agent runs the Collector of the node. It receives the components' spans, and sends them on to the
// given address.
func (e example) agent(t *testing.T, to string) *otelcol.Collector {
	t.Helper()
	return otelcol.Run(
		t,
		filepath.Join(configurations, "agent.yaml"),
		receiver,
		"SEND_TO="+to,
		"CERTIFICATES="+filepath.Join(e.certificates, "sender"),
	)
}

// server starts a server with the receivers of the example's configuration. The caller stops it.
func (e example) server(t *testing.T, address string, o harness.ServerOptions) *harness.Server {
	t.Helper()
	o.Config = e.configuration(t, address)
	s := bench.Server(t, o)
	s.Start(t)
	return s
}

// configuration returns the receivers in the example's manifest, with the given address, and the
// audit log.
func (e example) configuration(t *testing.T, address string) string {
	t.Helper()
	text := bench.MustKubectl(t, "", "create", "--dry-run=client", "-o", `jsonpath={.data.config\.yaml}`, "-f",
		filepath.Join(examples, e.name, "lifeline.yaml"))
	_, rest, ok := strings.Cut(text, "\nreceivers:\n")
	if !ok {
		t.Fatalf("the configuration of example %s has no receivers:\n%s", e.name, text)
	}
	receivers := ""
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, " ") { // the next section
			break
		}
		receivers += line
	}
	for _, listens := range []string{"address: :4317", "address: 127.0.0.1:14317"} {
		receivers = strings.ReplaceAll(receivers, listens, "address: "+address)
	}
	receivers = strings.ReplaceAll(receivers, "/certificates/", filepath.Join(e.certificates, "receiver")+"/")
	return fmt.Sprintf("receivers:\n%s  audit: {logFile: %q}\n", receivers, bench.AuditLog())
}

// change applies a Deployment, and checks that its trace in each server has the spans of all
// components.
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

// told waits until the trace of Deployment web has the spans of all components.
func told(t *testing.T, s *harness.Server, ns string) {
	t.Helper()
	settled(t, s, ns, "web", of(ns, "web"))
	var tr *harness.Trace
	// etcd's spans come up to five seconds after the API server's.
	harness.Eventually(t, "spans of all components in the trace", func() bool {
		tr = s.TraceOf(t, ns, "web")
		return len(services(tr)) == len(lab.Traced())
	})
	connected(t, tr)
	t.Logf("%d writes; %d spans, those of components: %v", len(writes(t, of(ns, "web"))), len(tr.Spans), services(tr))
}

// nothingLost checks that a Collector has sent each received span to times destinations.
func nothingLost(t *testing.T, c *otelcol.Collector, times int) {
	t.Helper()
	var n map[string]int
	defer func() { t.Logf("the Collector counts %v", n) }()
	harness.Eventually(t, "all spans sent by the Collector", func() bool {
		n = c.Spans(t)
		return n["receiver_accepted_spans"] > 0 && n["exporter_sent_spans"] == times*n["receiver_accepted_spans"]
	})
	for _, bad := range []string{
		"receiver_refused_spans", "exporter_send_failed_spans", "exporter_enqueue_failed_spans",
	} {
		if n[bad] > 0 {
			t.Errorf("the Collector counts %d %s, want none", n[bad], bad)
		}
	}
}

// TestCollectorOnNodes tests deploy/collector/daemonset.
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

// TestCollectorSidecar tests deploy/collector/sidecar.
func TestCollectorSidecar(t *testing.T) {
	harness.Slow(t)
	e := open(t, "sidecar")
	address, between := harness.Free(t), harness.Free(t)
	s := e.server(t, address, harness.ServerOptions{})
	sidecar := otelcol.Run(t, filepath.Join(configurations, "sidecar.yaml"), between,
		"SEND_TO="+address, "CERTIFICATES="+filepath.Join(e.certificates, "receiver"))
	e.agent(t, between)
	change(t, s)
	nothingLost(t, sidecar, 1)
	s.Stop(t)
}

// TestCollectorGateway tests deploy/collector/gateway. Each of its servers receives all spans.
func TestCollectorGateway(t *testing.T) {
	harness.Slow(t)
	e := open(t, "gateway")
	first, second, between := harness.Free(t), harness.Free(t), harness.Free(t)
	one, other := e.server(t, first, harness.ServerOptions{}), e.server(t, second, harness.ServerOptions{})
	gateway := otelcol.Run(t, filepath.Join(configurations, "gateway.yaml"), between,
		"SERVER_0="+first, "SERVER_1="+second, "CERTIFICATES="+e.certificates)
	e.agent(t, between)
	change(t, one, other)
	nothingLost(t, gateway, 2)
	one.Stop(t)
	other.Stop(t)
}

// TestCollectorKeepsWhatIsRefused: the Collector buffers spans while the server is away or refuses
// them because of a full disk. The whole change happens in that time.
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
				// A full disk does not stop SQLite at once, because it reuses its log after a
				// checkpoint. A new process has a new log without free space.
				s.Stop(t)
				s.Start(t)
				harness.Eventually(t, "a refused request in the server's metrics", func() bool {
					fill(t, filepath.Join(s.Dir, "filler"))
					return s.Metrics(t)[full] > 0
				})
			},
			end: func(t *testing.T, s *harness.Server) {
				if s.Ready(t) {
					t.Error("the server is ready although its disk is full")
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
				"a failed export in the Collector's log",
				func() bool { return strings.Contains(agent.Log(t), refused) },
			)
			c.end(t, s)
			told(t, s, ns)
			nothingLost(t, agent, 1)
			s.Stop(t)
		})
	}
}

// smallDisk mounts a tmpfs of 16 MiB until the test ends, and returns its folder.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("SKIP: cannot mount a small disk:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill appends to a file until the disk is full.
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

// TestCollectorManifests: the API server accepts each example. The configurations of its Collectors
// are the files that the tests above use.
func TestCollectorManifests(t *testing.T) {
	harness.Slow(t)
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if out, err := bench.RunKubectl(ctx, nil, "delete", "namespace", "lifeline", "--wait=false"); err != nil {
			t.Errorf("cannot delete namespace lifeline: %v\n%s", err, out)
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
				want, err := os.ReadFile(filepath.Join(configurations, who+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, o := range all.Items {
					found = found ||
						o.Kind == "ConfigMap" && o.Metadata.Name == "lifeline-collector-"+who &&
							o.Data["collector.yaml"] == string(want)
				}
				if !found {
					t.Errorf("no ConfigMap has the configuration of the Collector %s", who)
				}
			}
		})
	}
}
