// SPDX-License-Identifier: Apache-2.0

package received

import (
	"strings"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Attributes of components' spans.
const (
	keyAuditID     = attribute.Key("audit-id")
	keyStatus      = attribute.Key("http.response.status_code")
	keyPodUID      = attribute.Key("k8s.pod.uid")
	keyUpdateType  = attribute.Key("k8s.pod.update_type")
	keySandboxName = attribute.Key("sandbox.name")
	keyHost        = attribute.Key("host.name")
	keyVersion     = attribute.Key("service.version")
)

// text returns the value of a string attribute, or "".
func text(attrs []attribute.KeyValue, key attribute.Key) string {
	for i := range attrs {
		if attrs[i].Key == key && attrs[i].Value.Type() == attribute.STRING {
			return attrs[i].Value.AsString()
		}
	}
	return ""
}

// host returns the host.name of a resource, or "".
func host(r *span.Resource) string { return attributeOf(r, keyHost) }

// version returns the version of the component, or an empty string.
func version(r *span.Resource) string { return attributeOf(r, keyVersion) }

func attributeOf(r *span.Resource, key attribute.Key) string {
	if r == nil {
		return ""
	}
	return text(r.Attributes, key)
}

// keyOf returns the key of a span for pairs.
func keyOf(of trace.TraceID, id trace.SpanID) uint64 {
	var b [24]byte
	copy(b[:16], of[:])
	copy(b[16:], id[:])
	return xxhash.Sum64(b[:])
}

// calls reports whether s is a client span of a method with that prefix.
func calls(s *span.Span, method string) bool {
	return s.Origin.Kind == trace.SpanKindClient && strings.HasPrefix(s.Name, method)
}

// answers reports whether s is a server span of a method with that prefix, and has the caller's
// span as its parent.
func answers(s *span.Span, method string) bool {
	return s.Origin.Kind == trace.SpanKindServer && s.Parent.IsValid() && strings.HasPrefix(s.Name, method)
}

// isWrite reports whether s is the API server's span of a write request.
func isWrite(s *span.Span) bool {
	if s.Origin.Kind != trace.SpanKindServer {
		return false
	}
	method, _, ok := strings.Cut(s.Name, " /")
	switch method {
	case "POST", "PUT", "PATCH", "DELETE":
		return ok
	}
	return false
}

// isGranted reports whether a write succeeded and a watch shows it as one new version. It is false
// for Events, Leases and requests that store nothing, such as reviews. It is also false for
// deletions: one may remove thousands of objects, and one object may need two.
func isGranted(s *span.Span) bool {
	if strings.HasPrefix(s.Name, "DELETE ") {
		return false
	}
	for i := range s.Attributes {
		if kv := &s.Attributes[i]; kv.Key == keyStatus {
			if code := kv.Value.AsInt64(); code < 200 || code > 299 {
				return false
			}
		}
	}
	_, route, _ := strings.Cut(s.Name, " ")
	r, subresource, ok := resourceOf(route)
	return ok && r.Resource != "events" && r.Group != "coordination.k8s.io" && request.Stores(r, subresource)
}

// resourceOf parses the route of a request, such as
// /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status. It reports false if the route
// has no resource.
func resourceOf(route string) (r schema.GroupResource, subresource string, ok bool) {
	rest, core := strings.CutPrefix(route, "/api/")
	if !core {
		if rest, ok = strings.CutPrefix(route, "/apis/"); !ok {
			return r, "", false
		}
		r.Group, rest, _ = strings.Cut(rest, "/")
	}
	_, rest, _ = strings.Cut(rest, "/") // the version
	parts := strings.SplitN(rest, "/", 6)
	if len(parts) > 2 && parts[0] == "namespaces" && !isNamespaces(parts[2]) {
		parts = parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 2 {
		subresource = parts[2]
	}
	return r, subresource, r.Resource != ""
}

// isNamespaces reports whether a part of a route is a subresource of a namespace.
func isNamespaces(part string) bool { return part == "status" || part == "finalize" }

// podOf returns the Pod's UID in the name of a sandbox, or "". The kubelet's format is
// <pod>_<namespace>_<uid>_<attempt>, and no part contains an underscore.
func podOf(sandbox string) string {
	parts := strings.Split(sandbox, "_")
	if len(parts) != 4 {
		return ""
	}
	return parts[2]
}
