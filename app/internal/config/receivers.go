// SPDX-License-Identifier: Apache-2.0

package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReceiversConfiguration is the section `receivers`.
type ReceiversConfiguration struct {
	// The spans of kube-apiserver, kubelet, containerd, etcd and operators, as OTLP. A request has at
	// most 8 MiB, in JSON 2 MiB, also decompressed. Larger ones are refused.
	OTLP OTLPReceiverConfiguration `json:"otlp"`

	// The audit log of kube-apiserver: the user and exact time of each write, and refused writes.
	// Either `logFile` or `webhook` is enough.
	Audit AuditReceiverConfiguration `json:"audit"`
}

// AuditReceiverConfiguration is the section `receivers.audit`.
type AuditReceiverConfiguration struct {
	// A file that kube-apiserver writes on the same machine (`--audit-log-path`), one event a line;
	// empty means no file. The server follows rotations, and continues at its last position after a
	// restart.
	LogFile string `json:"logFile"`

	// The listener for batches that kube-apiserver posts (`--audit-webhook-config-file`), at any
	// path. Set its `--audit-webhook-batch-max-wait` to `1s`: with the default of 30 seconds most
	// events arrive too late to improve the times in traces.
	Webhook EndpointConfiguration `json:"webhook"`
}

// OTLPReceiverConfiguration is the section `receivers.otlp`.
type OTLPReceiverConfiguration struct {
	// OTLP over gRPC, which kube-apiserver, kubelet and etcd send. The usual port is 4317.
	GRPC EndpointConfiguration `json:"grpc"`

	// OTLP over HTTP, as protobuf or JSON at the path `/v1/traces`. The usual port is 4318.
	HTTP EndpointConfiguration `json:"http"`
}

// EndpointConfiguration is the section `receivers.otlp.grpc`, `receivers.otlp.http`,
// `receivers.audit.webhook` or `webhook.endpoint`.
type EndpointConfiguration struct {
	// The address to listen on, as `host:port`; empty means no listener. Without TLS it must be of
	// loopback, such as `127.0.0.1:4317`, unless `insecure` is set. Port 0 means a free port.
	Address string `json:"address"`

	// Allows an address outside loopback without TLS: everyone who reaches it can send data, and
	// the network in between can read them.
	Insecure bool `json:"insecure"`

	// A file with a token of at least 16 bytes; empty means no token. Every request must carry it,
	// as `Authorization: Bearer TOKEN`. A changed file is read again. kube-apiserver sends a token
	// with audit events over TLS only. kube-apiserver, kubelet and etcd send none with spans: put a
	// Collector in front. Not for `webhook.endpoint`.
	TokenFile string `json:"tokenFile"`

	// The certificate for TLS; without one the listener is plaintext. Changed files are read again.
	TLS TLSConfiguration `json:"tls"`
}

// TLSConfiguration is the section `tls` of an endpoint.
type TLSConfiguration struct {
	// The file with the server's certificate and its intermediate certificates, in PEM.
	CertFile string `json:"certFile"`

	// The file with the certificate's private key, in PEM.
	KeyFile string `json:"keyFile"`

	// The file with the certificate authorities for client certificates, in PEM; empty means that
	// clients need no certificate.
	ClientCAFile string `json:"clientCAFile"`
}

// The values of JoiningConfiguration.
const (
	JoinRewrite = "rewrite"
	JoinLink    = "link"

	UnjoinedPass = "pass"
	UnjoinedDrop = "drop"
)

// JoiningConfiguration is the section `joining`.
type JoiningConfiguration struct {
	// How a span of another component joins the change that it belongs to. `rewrite` moves it into
	// the change's trace, with that trace's ID. `link` sends it unchanged, and its span in the
	// change links to it.
	Mode string `json:"mode"`

	// What to do with spans that belong to no change: `pass` sends them unchanged, `drop` drops
	// them. Polls, health checks and requests for Leases are always dropped. All are counted.
	Unjoined string `json:"unjoined"`

	// How long a span waits for the change that it belongs to, from `10s` to `10m`. Components send
	// their spans up to five seconds late.
	Window metav1.Duration `json:"window"`
}
