// SPDX-License-Identifier: Apache-2.0

// Package otlp receives OpenTelemetry spans from kube-apiserver, kubelet, containerd, etcd,
// operators, or a Collector in front of them. It serves OTLP over gRPC and over HTTP (protobuf and
// JSON). It bounds and checks each request, then passes the spans to a Sink, each with an Origin.
// It does not join spans to traces; other packages do.
//
//	gRPC  ─┐
//	HTTP  ─┴▶ beginning ─▶ turn ─▶ body ─┬▶ wire ─┐
//	                                     └▶ json ─┴▶ batch (bounds, checks) ─▶ Sink
//
// No loss is silent. A request is accepted as a whole or refused with the status that the OTLP
// specification gives: retryable if the server is at fault, permanent if the request is. Invalid
// spans are rejected one by one, and the response has their number. Parts cut off the other spans
// are counted.
//
// Memory is bounded for every sender. The limits are on connections, concurrent requests, and the
// bytes of a request as sent, decompressed and decoded. A request takes its turn only after the
// beginning of its body has arrived. So a slow sender does not block the others.
package otlp
