// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// allTraces is the sampling rate of every trace.
const allTraces = "1000000"

// endpoint is the destination for components' spans: the address of the server's receiver, or the
// default port on the same machine.
func (f *Facts) endpoint() string {
	if s := f.server(); s != nil && s.From.Receives.GRPC != "" {
		return reachable(s.From.Receives.GRPC, "4317")
	}
	return "127.0.0.1:4317"
}

// endpointHTTP is endpoint for OTLP over HTTP.
func (f *Facts) endpointHTTP() string {
	if s := f.server(); s != nil && s.From.Receives.HTTP != "" {
		return "http://" + reachable(s.From.Receives.HTTP, "4318")
	}
	return "http://127.0.0.1:4318"
}

// reachable converts a listening address to a destination; an empty host becomes this machine. An
// invalid address is replaced, because users copy the lines.
func reachable(address, port string) string {
	host, said, err := net.SplitHostPort(address)
	if err != nil {
		return "127.0.0.1:" + port
	}
	if n, err := strconv.ParseUint(said, 10, 16); err == nil && n > 0 {
		port = said
	}
	ip := net.ParseIP(host)
	switch {
	case ip != nil && !ip.IsUnspecified():
	case ip == nil && len(validation.IsDNS1123Subdomain(host)) == 0:
	default:
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// receiverLines enable a server's span receivers.
func receiverLines() []Lines {
	return []Lines{{
		Where: "configuration of lifeline serve (--config), then restart it; components on other machines need a " +
			"Collector beside them, or an address and TLS",
		Text: `receivers:
  otlp:
    grpc:
      address: 127.0.0.1:4317
    http:
      address: 127.0.0.1:4318
joining:
  mode: rewrite
`,
	}}
}

// auditReceiverLines enable a server's audit receiver.
func auditReceiverLines() Lines {
	return Lines{
		Where: "configuration of lifeline serve (--config), then restart it; one of the two is enough",
		Text: `receivers:
  audit:
    webhook:
      address: 127.0.0.1:4319
    # logFile: /var/log/kubernetes/audit.log # where it runs beside kube-apiserver
`,
	}
}

// auditPolicy logs every write with its response, and no reads.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  resources:
  - group: coordination.k8s.io
    resources: [leases]
  - group: ""
    resources: [events, serviceaccounts/token]
  - group: events.k8s.io
  - group: authentication.k8s.io
  - group: authorization.k8s.io
- level: Metadata # without their content, which is confidential
  resources:
  - group: ""
    resources: [secrets, configmaps]
- level: RequestResponse
`

// auditLines enable the API server's audit log. An existing policy stays.
func (f *Facts) auditLines() []Lines {
	address, scheme, authority := "127.0.0.1:4319", "http", ""
	if s := f.server(); s != nil && s.From.Receives.AuditWebhook != "" {
		address = reachable(s.From.Receives.AuditWebhook, "4319")
		if s.Configuration.Receivers.Audit.Webhook.TLS.CertFile != "" {
			scheme, authority = "https",
				"    certificate-authority: /etc/kubernetes/lifeline-ca.crt # that of its certificate\n"
		}
	}
	flags := `--audit-webhook-config-file=/etc/kubernetes/audit-webhook.yaml
--audit-webhook-batch-max-wait=1s
`
	var out []Lines
	if !f.audits() {
		out = append(out, Lines{
			Where: "/etc/kubernetes/audit-policy.yaml, on each control-plane node", Text: auditPolicy,
		})
		flags = "--audit-policy-file=/etc/kubernetes/audit-policy.yaml\n" + flags
	}
	return append(out, Lines{
		Where: "/etc/kubernetes/audit-webhook.yaml, on each control-plane node",
		Text: fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: lifeline
  cluster:
    server: %s://%s
%scontexts:
- name: lifeline
  context:
    cluster: lifeline
current-context: lifeline
`, scheme, address, authority),
	}, Lines{
		Where: "flags of kube-apiserver (with kubeadm: /etc/kubernetes/manifests/kube-apiserver.yaml, and mount the " +
			"files)", Text: flags,
	}, Lines{
		Where: "or, in place of the webhook, for a server on the same machine (receivers.audit.logFile)",
		Text:  "--audit-log-path=/var/log/kubernetes/audit.log\n--audit-log-maxsize=100\n--audit-log-maxbackup=5\n",
	})
}

// apiServerLines enable the API server's tracing.
func (f *Facts) apiServerLines() []Lines {
	return []Lines{
		{
			Where: "/etc/kubernetes/tracing.yaml, on each control-plane node",
			Text: fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/%s
kind: TracingConfiguration
endpoint: %s
samplingRatePerMillion: %s
`, f.tracingVersion(), f.endpoint(), allTraces),
		},
		{
			Where: "flags of kube-apiserver (with kubeadm: /etc/kubernetes/manifests/kube-apiserver.yaml, and mount " +
				"the file)",
			Text: "--tracing-config-file=/etc/kubernetes/tracing.yaml\n",
		},
		{
			Where: "environment of kube-apiserver, if it is busy: its queue holds 2048 spans, and what does not fit " +
				"is lost without a word",
			Text: "OTEL_BSP_MAX_QUEUE_SIZE=65536\n",
		},
	}
}

// tracingVersion is the API server's version of TracingConfiguration.
func (f *Facts) tracingVersion() string {
	switch c := f.cluster(); {
	case c != nil && older(c.Version, oldest):
		return "v1alpha1"
	case c != nil && older(c.Version, "1.34.0"):
		return "v1beta1"
	}
	return "v1"
}

// kubeletLines enable the kubelets' tracing.
func (f *Facts) kubeletLines() []Lines {
	if c := f.cluster(); c != nil {
		if m, ok := c.managed(); ok {
			if m.kubeletLines == nil {
				return nil
			}
			return m.kubeletLines(f.endpoint())
		}
	}
	return []Lines{{
		Where: "KubeletConfiguration of each node (with kubeadm: /var/lib/kubelet/config.yaml), then: systemctl " +
			"restart kubelet",
		Text: "tracing:\n  endpoint: " + f.endpoint() + "\n  samplingRatePerMillion: " + allTraces + "\n",
	}}
}

// containerdLines enable containerd's tracing.
func (f *Facts) containerdLines(runtime string) []Lines {
	if older(runtime, "2.0.0") {
		return []Lines{{
			Where: "/etc/containerd/config.toml of each node, then: systemctl restart containerd",
			Text: fmt.Sprintf(`[plugins."io.containerd.tracing.processor.v1.otlp"]
  endpoint = %q
[plugins."io.containerd.internal.v1.tracing"]
  sampling_ratio = 1.0
  service_name = "containerd"
`, f.endpointHTTP()),
		}}
	}
	to, protocol := "http://"+f.endpoint(), "grpc"
	if s := f.server(); s != nil && s.receivesSpans() && s.From.Receives.GRPC == "" {
		to, protocol = f.endpointHTTP(), "http/protobuf"
	}
	return []Lines{{
		Where: "/etc/systemd/system/containerd.service.d/tracing.conf of each node, then: systemctl daemon-reload && " +
			"systemctl restart containerd",
		Text: fmt.Sprintf(`[Service]
Environment=OTEL_EXPORTER_OTLP_ENDPOINT=%s
Environment=OTEL_EXPORTER_OTLP_PROTOCOL=%s
Environment=OTEL_TRACES_SAMPLER=parentbased_always_on
Environment=OTEL_RESOURCE_ATTRIBUTES=host.name=%%H
`, to, protocol),
	}}
}

// crioLines enable CRI-O's tracing.
func (f *Facts) crioLines() []Lines {
	return []Lines{{
		Where: "/etc/crio/crio.conf.d/10-tracing.conf of each node, then: systemctl restart crio",
		Text: fmt.Sprintf("[crio.tracing]\nenable_tracing = true\ntracing_endpoint = "+
			"%q\ntracing_sampling_rate_per_million = %s\n", f.endpoint(), allTraces),
	}}
}

// etcdLines enable etcd's tracing. Its rate applies to traces that begin in etcd, which belong to
// no change. It records sampled traces of its callers at any rate.
func (f *Facts) etcdLines() []Lines {
	before := ""
	where := "flags of etcd (with kubeadm: /etc/kubernetes/manifests/etcd.yaml); at rate 0 it records all that the " +
		"API server records, and nothing else"
	c := f.cluster()
	switch {
	case c != nil && len(c.Etcds.Value) > 0:
		if older(c.Etcds.Value[0].Version, "3.6.0") {
			before = "experimental-"
		}
	default:
		where += "; before etcd 3.6 with experimental- in front of each"
	}
	var b strings.Builder
	for _, flag := range []string{
		"enable-distributed-tracing=true", "distributed-tracing-address=" + f.endpoint(),
		"distributed-tracing-sampling-rate=0",
	} {
		b.WriteString("--" + before + flag + "\n")
	}
	return []Lines{{Where: where, Text: b.String()}}
}

// older reports whether version v is before than; false for an invalid v.
func older(v, than string) bool {
	v = strings.TrimPrefix(v, "v")
	have, err := version.ParseGeneric(v)
	return err == nil && have.LessThan(version.MustParseGeneric(than))
}
