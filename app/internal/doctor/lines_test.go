// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/received"
)

func TestReachable(t *testing.T) {
	for name, tc := range map[string]struct{ reason, address, want string }{
		"Loopback":  {"it is beside the component, or something that passes it on", "127.0.0.1:5317", "127.0.0.1:5317"},
		"Loopback6": {"", "[::1]:4317", "[::1]:4317"},
		"All":       {"no address to send to", "[::]:4317", "127.0.0.1:4317"},
		"Empty":     {"no address to send to", ":4317", "127.0.0.1:4317"},
		"Address":   {"reached from elsewhere", "10.0.0.7:4317", "10.0.0.7:4317"},
		"Address6":  {"", "[fd00::7]:4317", "[fd00::7]:4317"},
		"Name":      {"", "lifeline.example:4317", "lifeline.example:4317"},
		"NoPort":    {"", "lifeline.example", "127.0.0.1:1"},
		"PortZero":  {"", "10.0.0.7:0", "10.0.0.7:1"},
		"Lines":     {"it would be copied", "a\nb:4317", "127.0.0.1:4317"},
		"Yaml":      {"it would be copied", "a\nrate: 0 #:4317", "127.0.0.1:1"},
		"PortLines": {"it would be copied", "10.0.0.7:4317\nx", "10.0.0.7:1"},
	} {
		if got := reachable(tc.address, "1"); got != tc.want {
			t.Errorf("%s: %q, want %q (%s)", name, got, tc.want, tc.reason)
		}
	}
}

// TestReceiverLines: the lines for a server's configuration are a valid configuration.
func TestReceiverLines(t *testing.T) {
	const head = "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\n"
	for _, lines := range append(receiverLines(), auditReceiverLines()) {
		if _, err := config.Parse([]byte(head + lines.Text)); err != nil {
			t.Errorf("%s: %v", lines.Where, err)
		}
	}
	if _, err := config.Parse([]byte(head + strings.ReplaceAll(auditReceiverLines().Text, "# logFile",
		"logFile"))); err != nil {
		t.Errorf("with the log file: %v", err)
	}
}

// TestLines: YAML lines are valid, and current components get the newest form.
func TestLines(t *testing.T) {
	f := whole()
	f.Cluster.Value.APIServers.Value[0].Flags, f.Cluster.Value.Audited = nil, known(0.0)
	for _, lines := range append(append(f.apiServerLines()[:1], f.auditLines()[:2]...), f.kubeletLines()...) {
		var out map[string]any
		if err := yaml.UnmarshalStrict([]byte(lines.Text), &out); err != nil || len(out) == 0 {
			t.Errorf("%s: %v", lines.Where, err)
		}
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*Facts)
		lines  func(*Facts) []Lines
		want   string
	}{
		"TracingNew": {"from 1.34 on", func(*Facts) {}, (*Facts).apiServerLines, "apiserver.config.k8s.io/v1\n"},
		"TracingOld": {
			"before 1.34", func(f *Facts) { f.Cluster.Value.Version = "v1.33.4" }, (*Facts).apiServerLines,
			"apiserver.config.k8s.io/v1beta1\n",
		},
		"TracingGate": {
			"before 1.27, behind its gate", func(f *Facts) { f.Cluster.Value.Version = "v1.26.15" },
			(*Facts).apiServerLines, "apiserver.config.k8s.io/v1alpha1\n",
		},
		"TracingAny": {
			"of an unknown version the newest", func(f *Facts) { f.Cluster = unknown[Cluster]("x") },
			(*Facts).apiServerLines, "apiserver.config.k8s.io/v1\n",
		},
		"EtcdNew": {"", func(*Facts) {}, (*Facts).etcdLines, "--enable-distributed-tracing=true"},
		"EtcdOld": {
			"before 3.6", func(f *Facts) { f.Cluster.Value.Etcds.Value[0].Version = "3.5.9-0" }, (*Facts).etcdLines,
			"--experimental-enable-distributed-tracing=true",
		},
		"WebhookTLS": {
			"a certificate has an authority", func(f *Facts) {
				f.Server.Value.Configuration.Receivers.Audit.Webhook.TLS.CertFile = "/x"
			}, (*Facts).auditLines, "server: https://127.0.0.1:4319\n    certificate-authority: ",
		},
		"PolicyThere": {
			"what is there stays", func(f *Facts) { f.Cluster.Value.Audited = known(5.0) }, (*Facts).auditLines,
			"--audit-webhook-config-file",
		},
		"KubeletOfEKS": {
			"by user data", func(f *Facts) { managedCase(EKS)(&f.Cluster.Value, &f.Server.Value, f) },
			(*Facts).kubeletLines, "kind: NodeConfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole()
			f.Server.Value.Configuration = config.Default()
			tc.change(&f)
			var all strings.Builder
			for _, lines := range tc.lines(&f) {
				all.WriteString(lines.Text)
			}
			if !strings.Contains(all.String(), tc.want) {
				t.Errorf("%s: no %q in\n%s", tc.reason, tc.want, &all)
			}
			if name == "PolicyThere" && strings.Contains(all.String(), "--audit-policy-file") {
				t.Errorf("%s: a second policy:\n%s", tc.reason, &all)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for want, r := range map[string]received.Rate{
		"all of 12 writes":                                    {Of: 12, With: 12},
		"all of 10 writes":                                    {Of: 10, With: 14}, // counts without pairing
		"none of 12 writes":                                   {Of: 12},
		"about 1 % (3 of 310 writes; 0.3 to 2.8 %)":           {Of: 310, With: 3},
		"about 50 % (5 of 10 writes; 24 to 76 %)":             {Of: 10, With: 5},
		"about 99.9 % (9990 of 10000 writes; 99.8 to 99.9 %)": {Of: 10_000, With: 9990},
		"about <0.1 % (1 of 1000000 writes; <0.1 to <0.1 %)":  {Of: 1_000_000, With: 1},
		"about 98 % (49 of 50 writes; 90 to 99.6 %)":          {Of: 50, With: 49},
	} {
		if got := words(r, "writes"); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
