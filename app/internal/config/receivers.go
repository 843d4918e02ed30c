// SPDX-License-Identifier: Apache-2.0

package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReceiversConfiguration is the section `receivers`.
type ReceiversConfiguration struct {
	// The spans of kube-apiserver, kubelet, containerd, etcd and operators, as OTLP.
	OTLP OTLPReceiverConfiguration `json:"otlp"`

	// The audit log of kube-apiserver: who wrote what, when exactly, and what was refused. One of
	// its two ways is enough.
	Audit AuditReceiverConfiguration `json:"audit"`
}

// AuditReceiverConfiguration is the section `receivers.audit`.
type AuditReceiverConfiguration struct {
	// A file that kube-apiserver writes on the same machine (`--audit-log-path`), one event a line;
	// empty reads none. It is followed when it is rotated, and from where it was left after a
	// restart.
	LogFile string `json:"logFile"`

	// Batches that kube-apiserver posts (`--audit-webhook-config-file`), to any path. Set its
	// `--audit-webhook-batch-max-wait` to `1s`: with the default of 30 seconds most of what it
	// tells comes too late to make times better.
	Webhook EndpointConfiguration `json:"webhook"`
}

// OTLPReceiverConfiguration is the section `receivers.otlp`.
type OTLPReceiverConfiguration struct {
	// OTLP over gRPC, the one that kube-apiserver, kubelet and etcd speak. By convention it has
	// port 4317.
	GRPC EndpointConfiguration `json:"grpc"`

	// OTLP over HTTP, as protobuf or JSON at the path `/v1/traces`. By convention it has port 4318.
	HTTP EndpointConfiguration `json:"http"`
}

// EndpointConfiguration is the section `receivers.otlp.grpc`, `receivers.otlp.http`,
// `receivers.audit.webhook` or `webhook.endpoint`.
type EndpointConfiguration struct {
	// The address to listen on, as `host:port`; empty receives nothing. Without TLS it must be of
	// loopback, such as `127.0.0.1:4317`, unless `insecure` is set. Port 0 takes a free port.
	Address string `json:"address"`

	// Allows an address that is not of loopback without TLS: whoever reaches it can read what is
	// sent, and send what they like.
	Insecure bool `json:"insecure"`

	// A file with a token that every request must carry, as `Authorization: Bearer TOKEN`; empty
	// asks for none. It has at least 16 bytes, and is read again when it changes. kube-apiserver
	// sends one with audit events over TLS only. kube-apiserver, kubelet and etcd send none with
	// spans: put a Collector in front. Not for `webhook.endpoint`.
	TokenFile string `json:"tokenFile"`

	// With which certificate to speak TLS; without one it is plaintext. The files are read again
	// when they change.
	TLS TLSConfiguration `json:"tls"`
}

// TLSConfiguration is the section `tls` of an endpoint.
type TLSConfiguration struct {
	// The file with the server's certificate and those between it and its authority, in PEM.
	CertFile string `json:"certFile"`

	// The file with the certificate's private key, in PEM.
	KeyFile string `json:"keyFile"`

	// The file with the authorities, in PEM, by one of which a client's certificate must be signed;
	// empty asks clients for none.
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
	// What becomes of a span of another component that belongs to a change: `rewrite` puts it into
	// the trace of the change, under that trace's ID; `link` sends it on as it came, and the span
	// of the change that it belongs to links to it.
	Mode string `json:"mode"`

	// What becomes of spans that belong to no change: `pass` sends them on as they came, `drop`
	// drops them. Polls and health checks are always dropped. All are counted.
	Unjoined string `json:"unjoined"`

	// How long a span waits for the change that it belongs to. Components send their spans up to
	// five seconds late.
	Window metav1.Duration `json:"window"`
}
