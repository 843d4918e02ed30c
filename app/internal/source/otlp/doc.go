// SPDX-License-Identifier: Apache-2.0

// Package otlp receives the spans that others make: kube-apiserver, kubelet,
// containerd, etcd, operators, or a Collector in front of them. It speaks OTLP
// over gRPC and over HTTP (protobuf and JSON), bounds and checks what comes, and
// hands it to a Sink as spans with an Origin. What they belong to is for others
// to find out.
//
//	gRPC  ─┐
//	HTTP  ─┴▶ beginning ─▶ turn ─▶ body ─┬▶ wire ─┐
//	                                     └▶ json ─┴▶ batch (bounds, checks) ─▶ Sink
//
// Nothing is lost in silence. A request is taken as a whole or refused with the
// status of the OTLP specification: to be sent again if the server is at fault,
// for good if the request is. Spans that nobody could use are rejected one by
// one, and the answer says so; what is cut off the others is counted.
//
// Memory is bounded whoever sends: connections, requests at a time, bytes of a
// request as sent, decompressed and decoded. A request waits for its turn once the
// beginning of its body is there, and before the rest is read: so who sends slowly
// holds up nobody.
package otlp
