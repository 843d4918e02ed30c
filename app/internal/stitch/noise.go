// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// noise records spans that were dropped as noise, so that their children are dropped too (rule X3).
// It drops the older half when it is full.
type noise struct{ recent, older map[key]struct{} }

// maxNoise limits the spans in each half.
const maxNoise = 1 << 15

func newNoise() noise { return noise{recent: map[key]struct{}{}, older: map[key]struct{}{}} }

func (n *noise) add(k key) {
	if len(n.recent) >= maxNoise {
		n.recent, n.older = n.older, n.recent
		clear(n.recent)
	}
	n.recent[k] = struct{}{}
}

func (n *noise) has(k key) bool {
	if _, there := n.recent[k]; there {
		return true
	}
	_, there := n.older[k]
	return there
}

// polls are the kubelet's polling calls, several per second. A poll within other work stays below
// that work.
var polls = map[string]bool{
	"ListContainers": true, "ListPodSandbox": true, "ContainerStatus": true, "PodSandboxStatus": true,
	"ListImages": true, "ImageStatus": true,
	"ImageFsInfo": true, "Status": true, "Version": true, "ContainerStats": true, "ListContainerStats": true,
	"PodSandboxStats":     true,
	"ListPodSandboxStats": true, "ListMetricDescriptors": true, "ListPodSandboxMetrics": true,
	"GetContainerEvents": true,
	"RuntimeConfig":      true, "UpdateRuntimeConfig": true,
	// Calls between containerd and its shims.
	"State": true, "Stats": true, "Forward": true,
	// Health checks of gRPC, and the repeated calls to etcd.
	"Check": true, "Watch": true, "LeaseGrant": true, "LeaseKeepAlive": true, "LeaseRevoke": true,
}

// Attributes that hold the path of a request, old and new.
const (
	keyTarget = attribute.Key("http.target")
	keyPath   = attribute.Key("url.path")
	keyURL    = attribute.Key("url.full")
)

// isNoise reports whether s belongs to no work: a polling root, or a request for a lease, a health
// check or the like from any caller.
func isNoise(s *span.Span) bool {
	root := !s.Parent.IsValid()
	switch kind(s) {
	case trace.SpanKindServer, trace.SpanKindClient:
	default:
		return false
	}
	if slash := strings.LastIndexByte(s.Name, '/'); root && slash >= 0 && polls[s.Name[slash+1:]] &&
		isRPC(s.Name[:slash]) {
		return true
	}
	if strings.Contains(s.Name, "/coordination.k8s.io/") {
		return true
	}
	if !strings.HasPrefix(s.Name, "HTTP ") && !isMethod(s.Name) {
		return false
	}
	path := pathOf(s)
	return strings.HasPrefix(path, "/apis/coordination.k8s.io/") || isHealth(path)
}

// isRPC reports whether a service has the form of gRPC names: runtime.v1.RuntimeService.
func isRPC(service string) bool {
	return !strings.ContainsAny(service, "/ ") && strings.Contains(service, ".")
}

// isMethod reports whether name is only an HTTP method. Requests without a resource have such
// names.
func isMethod(name string) bool {
	switch name {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return true
	}
	return false
}

// pathOf returns the path of the request of s, or an empty string.
func pathOf(s *span.Span) string {
	for i := range s.Attributes {
		switch s.Attributes[i].Key {
		case keyPath, keyTarget:
			path, _, _ := strings.Cut(s.Attributes[i].Value.AsString(), "?")
			return path
		case keyURL:
			url := s.Attributes[i].Value.AsString()
			if _, rest, ok := strings.Cut(url, "://"); ok {
				if slash := strings.IndexByte(rest, '/'); slash >= 0 {
					path, _, _ := strings.Cut(rest[slash:], "?")
					return path
				}
			}
			return ""
		}
	}
	return ""
}

func isHealth(path string) bool {
	for _, prefix := range []string{"/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi", "/ping"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// minor reports whether s is unlikely to belong to a change: a read, a poll, or a write of an
// Event, a review or a Node. Such spans are evicted first.
func minor(s *span.Span) bool {
	verb, rest, _ := strings.Cut(s.Name, " ")
	switch {
	case kind(s) == trace.SpanKindServer && strings.HasPrefix(rest, "/"):
		if isStream(rest) {
			return false
		}
		return verb == "GET" || verb == "HEAD" || strings.HasSuffix(rest, "/events") ||
			strings.HasSuffix(rest, "reviews") ||
			strings.Contains(rest, "/nodes/")
	case s.Name == "HTTP GET", s.Name == "GET", s.Name == authentication, s.Name == "etcdserverpb.KV/Range" &&
		!s.Parent.IsValid():
		return true
	}
	slash := strings.LastIndexByte(s.Name, '/')
	return slash >= 0 && polls[s.Name[slash+1:]] && isRPC(s.Name[:slash])
}

// authentication is the API server's span before it has authenticated the caller. Without trust in
// the caller it is a separate trace.
const authentication = "authentication"

// isStream reports whether a kubelet answers the request.
func isStream(name string) bool {
	for _, sub := range []string{"/exec", "/attach", "/portforward", "/log", "/proxy"} {
		if strings.HasSuffix(name, sub) {
			return true
		}
	}
	return false
}
