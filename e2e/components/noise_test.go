// SPDX-License-Identifier: Apache-2.0

package components

import (
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// restless reports whether a trace of a component has only background activity:
// polls of containerd, reads and watches, leases, and access reviews. There are
// dozens of such traces each second, also in an idle cluster.
func restless(t *harness.Trace) bool {
	for _, s := range t.Spans {
		if !routine(s) {
			return false
		}
	}
	return true
}

// routine reports whether a span is what a restless trace is made of.
func routine(s *harness.Span) bool {
	switch s.Service {
	case "apiserver":
		// What is around and below a request is as the request is.
		return s.Attributes["http.target"] == "" || routineRequest(s)
	case "kubelet":
		return s.Parent != "" || poll(s.Name) || strings.HasSuffix(s.Name, "/GarbageCollect") || s.Name == "HTTP GET" ||
			(strings.HasPrefix(s.Name, "HTTP ") && routineURL(s.Attributes["url.full"]))
	case "containerd":
		return s.Parent != "" || poll(s.Name) || !strings.HasPrefix(s.Name, "runtime.v1.")
	default:
		return s.Service == "etcd"
	}
}

func routineRequest(s *harness.Span) bool {
	verb, path, _ := strings.Cut(s.Name, " ")
	for _, connection := range []string{"/exec", "/attach", "/portforward", "/log"} {
		if strings.HasSuffix(path, connection) {
			return false
		}
	}
	return verb == "GET" || routineURL(path)
}

func routineURL(path string) bool {
	return strings.Contains(path, "/leases") || strings.Contains(path, "/token") ||
		strings.Contains(path, "/authentication.k8s.io/") || strings.Contains(path, "/authorization.k8s.io/")
}

// poll reports whether the kubelet makes such a call in order to look.
func poll(name string) bool {
	_, call, _ := strings.Cut(name, "Service/")
	switch call {
	case "ListContainers",
		"ListPodSandbox",
		"ContainerStatus",
		"PodSandboxStatus",
		"ListImages",
		"ImageFsInfo",
		"ImageStatus",
		"Status",
		"Version",
		"ListContainerStats",
		"ContainerStats",
		"ListPodSandboxStats",
		"PodSandboxStats",
		"RuntimeConfig":
		return true
	}
	return false
}
