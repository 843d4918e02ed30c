// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/received"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// whole returns facts of a cluster with all sources.
func whole() Facts {
	node := func(name string) Node { return Node{Name: name, Kubelet: "v1.37.2", Runtime: "containerd://2.3.7"} }
	return Facts{
		At: noon, Version: "v0.1.0",
		Cluster: known(Cluster{
			Version: "v1.37.2", User: known("user-5f2b"), Clock: known(Skew{Low: -0.4, High: 0.5}),
			Nodes: known([]Node{node("n1"), node("n2")}),
			Kubelets: known([]Kubelet{
				{Node: "n1", Tracing: &Tracing{Endpoint: "localhost:4317", Rate: 1_000_000}},
				{Node: "n2", Tracing: &Tracing{Rate: 1_000_000}},
			}),
			APIServers: known([]Process{{Node: "n1", Version: "v1.37.2", Flags: map[string]string{
				"tracing-config-file": "/etc/kubernetes/tracing.yaml",
				"audit-policy-file":   "/etc/kubernetes/audit-policy.yaml",
			}}}),
			Etcds: known([]Process{
				{Node: "n1", Version: "3.6.13-0", Flags: map[string]string{"enable-distributed-tracing": "true"}},
			}),
			Schedulers: known([]Process{{Node: "n1", Version: "v1.37.2"}}),
			Audited:    known(1200.0), Rights: known(Rights{Resources: 42}),
			Webhook: known(&Webhook{
				Name: "lifeline", Where: "lifeline/lifeline-webhook:443", Authority: "managed", Authorities: 1,
				Until: noon.Add(60 * 24 * time.Hour),
				Ready: known(2), Served: unknown[Served]("this machine does not reach it"),
				Calls: known(Calls{All: 4200, Failed: 3}),
			}),
		}),
		Server: known(Server{
			Version: "v0.1.0", Mode: "single", Local: true, AsOf: noon, Stats: api.Stats{Traces: 12, Open: 1},
			Configuration: config.Default(),
			From: api.Sources{
				Watch:    api.WatchSource{Watching: true, Resources: 42},
				Receives: api.Receives{GRPC: "127.0.0.1:4317", HTTP: "127.0.0.1:4318", AuditWebhook: "127.0.0.1:4319"},
				Joining:  &api.Joining{Received: 9000, Joined: 700, Late: 20, Passed: 4000, Noise: 4200, Buffered: 80},
				Received: received.Summary{
					AsOf: noon, Since: noon.Add(-time.Hour), Window: 900,
					Components: []received.Component{
						{Name: "apiserver", Spans: 5000, All: 20000, Last: noon, Joined: 400},
						{Name: "containerd", Spans: 1000, All: 4000, Last: noon, Joined: 100},
						{Name: "etcd", Spans: 2000, All: 8000, Last: noon, Joined: 150},
						{
							Name: "kubelet", Spans: 1000, All: 4000, Last: noon, Joined: 70, Hosts: []received.Host{
								{Name: "n1", Last: noon}, {Name: "n2", Last: noon},
							},
						},
						{Name: "kube-scheduler", Spans: 300, All: 900, Last: noon, Joined: 270, Version: "v1.37.2"},
					},
					Audit: received.Audit{
						Writes: 310, Refused: 4, Answers: received.Rate{Of: 200, With: 200}, Delay: 0.6, Last: noon,
					},
					Coverage: received.Coverage{
						Writes: received.Rate{Of: 310, With: 310}, Changes: received.Rate{Of: 300, With: 320},
						Transactions: received.Rate{Of: 900, With: 899},
						Pods:         received.Rate{Of: 12, With: 12}, Sandboxes: received.Rate{Of: 12, With: 12},
						Calls: received.Rate{Of: 400, With: 400},
					},
				},
			},
		}),
	}
}

// reports are the cases, as changes to a cluster with all sources.
var reports = map[string]struct {
	reason  string
	change  func(c *Cluster, s *Server, f *Facts)
	missing bool
}{
	"whole": {"nothing to say", func(*Cluster, *Server, *Facts) {}, false},
	"watch-only": {"a kubeconfig and nothing else", func(c *Cluster, _ *Server, f *Facts) {
		f.Server = unknown[Server]("none was named, and none answers at http://127.0.0.1:7070")
		c.APIServers.Value[0].Flags, c.Etcds.Value[0].Flags = nil, nil
		c.Kubelets.Value[0].Tracing, c.Kubelets.Value[1].Tracing = nil, nil
		c.Audited = known(0.0)
	}, false},
	"relations": {"one of two relations never matched", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Relations = []api.Relation{
			{
				Name: "claim-of-database", From: "Database.example.com", To: "PersistentVolumeClaim", Matches: 3,
				Causes: api.RelationKeys{Keyed: 2}, Effects: api.RelationKeys{Keyed: 3, Keyless: 7},
			},
			{
				Name: "never", From: "Database.example.com", To: "Backup.$(reboot).com",
				Causes: api.RelationKeys{Keyed: 1, Keyless: 1},
			},
		}
	}, false},
	"relations-young": {"too early to say", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Received.Since = noon.Add(-20 * time.Second)
		s.From.Relations = []api.Relation{{Name: "never", From: "A.example.com", To: "B.example.com"}}
	}, false},
	"relations-matched": {"each relation matched", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Relations = []api.Relation{{Name: "some", From: "A.example.com", To: "B.example.com", Matches: 1}}
	}, false},
	"health": {"kinds that show nothing of their state", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Watch.Silent = []string{"VirtualService.networking.istio.io", "Widget.$(reboot).com"}
	}, false},
	"no-reviews": {"a server that may not ask what its callers may see", func(_ *Cluster, _ *Server, f *Facts) {
		f.Server = unknown[Server]("the API server has not decided what you may see, so nothing is shown: " +
			"the server of Lifeline may not create subjectaccessreviews.authorization.k8s.io: " +
			"bind its ServiceAccount to the ClusterRole system:auth-delegator")
	}, true},
	"no-receivers": {"a server that only watches", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Receives, s.From.Joining = api.Receives{}, nil
		s.From.Received.Components, s.From.Received.Audit = nil, received.Audit{}
	}, false},
	"nothing-comes": {"a server that waits in vain", func(c *Cluster, s *Server, _ *Facts) {
		s.From.Joining = &api.Joining{}
		s.From.Received.Components, s.From.Received.Audit = nil, received.Audit{}
		s.From.Received.Coverage = received.Coverage{Changes: received.Rate{Of: 300}}
		c.APIServers.Value[0].Flags = map[string]string{}
	}, true},
	"scheduler-other": {"a scheduler of another version", func(c *Cluster, _ *Server, _ *Facts) {
		c.Version = "v1.35.2"
	}, false},
	"scheduler-none": {"kube-scheduler itself; drivers, devices: no spans", func(c *Cluster, s *Server, _ *Facts) {
		s.From.Received.Components = s.From.Received.Components[:4]
		c.Nodes.Value[1].Drivers = []string{"disk.example.com", "files.example.com"}
		c.Nodes.Value[1].Devices = []string{"example.com/gpu"}
	}, false},
	"scheduler-silent": {"spans came before", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Received.Components[4] = received.Component{
			Name: "kube-scheduler", All: 900, Last: noon.Add(-20 * time.Minute), Version: "v1.37.2",
		}
	}, false},
	"drivers": {"calls to drivers and device plugins", func(c *Cluster, s *Server, _ *Facts) {
		c.Nodes.Value[0].Drivers = []string{"disk.example.com"}
		s.From.Received.Components = append(s.From.Received.Components,
			received.Component{Name: "csi-driver", Spans: 8, All: 8, Last: noon},
			received.Component{Name: "device-plugin", All: 3, Last: noon.Add(-time.Hour)})
	}, false},
	"just-begun": {"nothing has had the time to come", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Received.Since = noon.Add(-20 * time.Second)
		s.From.Received.Components, s.From.Received.Audit, s.From.Received.Coverage = nil, received.Audit{},
			received.Coverage{}
		s.From.Joining = nil
	}, false},
	"sampled": {"components that sample", func(c *Cluster, s *Server, _ *Facts) {
		s.From.Received.Coverage.Writes.With, s.From.Received.Coverage.Pods.With = 3, 5
		c.Kubelets.Value[0].Tracing.Rate, c.Kubelets.Value[1].Tracing.Rate = 10_000, 500_000
		s.From.Received.Audit.Delay, s.From.Received.Components[0].Corrected,
			s.From.Received.Components[0].Correction = 14, 40, -3.01
	}, false},
	"sampled-young": {"a kubelet says itself what it samples, before anything shows it",
		func(c *Cluster, s *Server, _ *Facts) {
			c.Kubelets.Value[1].Tracing.Rate = 10_000
			s.From.Received.Coverage.Pods = received.Rate{}
		}, false},
	"no-audit": {"counts of changes, where nothing says which request was which",
		func(_ *Cluster, s *Server, _ *Facts) {
			s.From.Receives.AuditWebhook = ""
			s.From.Received.Audit, s.From.Received.Coverage.Writes = received.Audit{}, received.Rate{}
			s.From.Received.Coverage.Changes = received.Rate{Of: 200, With: 100}
		}, false},
	"metadata": {
		"an audit log without answers", func(_ *Cluster, s *Server, _ *Facts) {
			s.From.Received.Audit.Answers.With = 0
		}, false,
	},
	"silent-node": {"one node of two", func(_ *Cluster, s *Server, _ *Facts) {
		s.From.Received.Components[3].Hosts = s.From.Received.Components[3].Hosts[:1]
	}, true},
	"old": {"Kubernetes 1.30 with containerd 1.7 and etcd 3.5", func(c *Cluster, s *Server, _ *Facts) {
		c.Version, c.Etcds.Value[0] = "v1.30.2", Process{Version: "3.5.21-0"}
		for i := range c.Nodes.Value {
			c.Nodes.Value[i].Kubelet, c.Nodes.Value[i].Runtime = "v1.30.2", "containerd://1.7.24"
		}
		s.From.Received.Components = nil
	}, true},
	"crio": {"another runtime", func(c *Cluster, s *Server, _ *Facts) {
		for i := range c.Nodes.Value {
			c.Nodes.Value[i].Runtime = "cri-o://1.34.1"
		}
		s.From.Received.Components = s.From.Received.Components[:1]
	}, true},
	"eks": {"a control plane of Amazon's", managedCase(EKS), false},
	"gke": {"a control plane of Google's", managedCase(GKE), false},
	"aks": {"a control plane of Microsoft's", managedCase(AKS), false},
	"no-rights": {"neither the caller nor the server may see all", func(c *Cluster, s *Server, _ *Facts) {
		c.Rights = known(Rights{Resources: 42, Denied: []string{"a", "b", "c", "d", "e", "f", "pods"}})
		s.From.Watch.Unreadable, s.From.Watch.Lag = []string{"widgets.example.com"}, api.Seconds(time.Minute)
		c.Nodes, c.Kubelets = unknown[[]Node]("you may not list nodes"), unknown[[]Kubelet]("you may not list nodes")
		c.APIServers, c.Etcds = unknown[[]Process]("you may not list pods in kube-system"),
			unknown[[]Process]("you may not list pods in kube-system")
		c.Audited = unknown[float64]("you may not get /metrics")
	}, true},
	"no-cluster": {
		"a server alone", func(_ *Cluster, _ *Server, f *Facts) {
			f.Cluster = unknown[Cluster]("there is no kubeconfig")
		}, false,
	},
	"clocks": {
		"this machine's clock", func(c *Cluster, _ *Server, _ *Facts) {
			c.Clock = known(Skew{Low: -4.2, High: -3.1})
		}, false,
	},
	"flood": {
		"more than there is room for", func(_ *Cluster, s *Server, _ *Facts) { s.From.Joining.Evicted = 12 }, false,
	},
	"no-webhook": {
		"nobody has to have it", func(c *Cluster, _ *Server, _ *Facts) { c.Webhook = known[*Webhook](nil) }, false,
	},
	"webhook-unseen": {"a right is lacking", func(c *Cluster, _ *Server, _ *Facts) {
		c.Webhook = unknown[*Webhook]("you may not list mutatingwebhookconfigurations")
	}, false},
	"webhook-nobody": {"a Service without Pods", webhookCase(func(w *Webhook) { w.Ready = known(0) }), true},
	"webhook-untold": {
		"the server has no right to write, or is not told to", webhookCase(func(w *Webhook) {
			w.Authorities, w.Until = 0, time.Time{}
		}), true,
	},
	"webhook-ended": {"what is known has ended", webhookCase(func(w *Webhook) { w.Until = noon }), true},
	"webhook-other": {"another certificate is served", webhookCase(func(w *Webhook) {
		w.Authority, w.Served = "given", known(Served{
			Wrong: "x509: certificate signed by unknown authority", Until: noon.Add(90 * 24 * time.Hour),
		})
	}), true},
	"webhook-near": {
		"it ends soon", webhookCase(func(w *Webhook) {
			w.Authority, w.Until = "cert-manager", noon.Add(3*24*time.Hour)
		}), false,
	},
	"webhook-failing": {"some calls fail", webhookCase(func(w *Webhook) { w.Calls.Value.Failed = 900 }), false},
	"webhook-changed": {"a user made it dangerous", webhookCase(func(w *Webhook) {
		w.Differs = []string{
			"objects.webhook.lifeline.dev: failurePolicy is not Ignore: without the server, every write fails",
		}
	}), true},
	"hostile": {"names are anybody's", func(c *Cluster, s *Server, _ *Facts) {
		c.Version, c.Nodes.Value[0].Name = "v1.37.2\x1b[31m", "n\u202e1"
		s.From.Watch.Unreadable = []string{"a\nok       all is well"}
		s.From.Received.Components[3].Hosts = s.From.Received.Components[3].Hosts[1:]
	}, true},
}

// webhookCase changes the webhook.
func webhookCase(change func(*Webhook)) func(*Cluster, *Server, *Facts) {
	return func(c *Cluster, _ *Server, _ *Facts) { change(c.Webhook.Value) }
}

// managedCase changes the provider.
func managedCase(provider string) func(*Cluster, *Server, *Facts) {
	return func(c *Cluster, s *Server, _ *Facts) {
		for i := range c.Nodes.Value {
			c.Nodes.Value[i].Provider = provider
		}
		c.APIServers, c.Etcds = known([]Process{}), known([]Process{})
		c.Kubelets.Value[0].Tracing, c.Kubelets.Value[1].Tracing = nil, nil
		s.From.Received.Components, s.From.Received.Audit = nil, received.Audit{}
		if provider == EKS { // kubelets of the user's own send
			s.From.Received.Components = whole().Server.Value.From.Received.Components[3:]
		}
	}
}

func TestReports(t *testing.T) {
	for name, tc := range reports {
		t.Run(name, func(t *testing.T) {
			f := whole()
			tc.change(&f.Cluster.Value, &f.Server.Value, &f)
			r := Examine(f)
			if r.Missing() != tc.missing {
				t.Errorf("%s: missing is %t, want %t", tc.reason, r.Missing(), tc.missing)
			}
			var out bytes.Buffer
			if err := Print(&out, &r); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".out", out.Bytes())
		})
	}
}

// TestChecks checks the invariants of every report.
func TestChecks(t *testing.T) {
	for name, tc := range reports {
		f := whole()
		tc.change(&f.Cluster.Value, &f.Server.Value, &f)
		seen := map[string]bool{}
		for _, c := range Examine(f).Checks {
			switch {
			case seen[c.Name]:
				t.Errorf("%s: two checks of %s", name, c.Name)
			case c.Found == "":
				t.Errorf("%s: %s has found nothing", name, c.Name)
			case c.Status == OK && (c.Lose != "" || len(c.Add) > 0):
				t.Errorf("%s: %s is ok, and loses %q", name, c.Name, c.Lose)
			case (c.Status == Missing || c.Status == Advice) && c.Lose == "":
				t.Errorf("%s: %s does not say what is lost", name, c.Name)
			case c.Status == Missing && len(c.Add) == 0:
				t.Errorf("%s: %s is missing, and there is nothing to add", name, c.Name)
			}
			seen[c.Name] = true
		}
	}
}

func TestJSON(t *testing.T) {
	f := whole()
	reports["hostile"].change(&f.Cluster.Value, &f.Server.Value, &f)
	r := Examine(f)
	var out bytes.Buffer
	if err := PrintJSON(&out, &r); err != nil {
		t.Fatal(err)
	}
	golden(t, "hostile.json", out.Bytes())
	var back struct {
		Checks []Check
		Facts  struct {
			Cluster struct{ Value struct{ Version string } }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Checks, back.Checks); diff != "" {
		t.Errorf("checks: -written +read:\n%s", diff)
	}
	if back.Facts.Cluster.Value.Version != f.Cluster.Value.Version {
		t.Errorf("the version was read back as %q", back.Facts.Cluster.Value.Version)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}
