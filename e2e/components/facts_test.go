// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// told is what the components told in a recording's time.
type told struct {
	spans map[spanID]*harness.Span
	// children are by parent, those of other components included.
	children map[spanID][]*harness.Span
	events   []auditEvent
}

type spanID struct{ trace, span string }

// auditEvent is the little of one that says which request it is.
type auditEvent struct {
	AuditID, Stage, Verb string

	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace string }
	ResponseStatus struct{ Code int }
}

// read combines the spans, the audit log and the observations.
func (r *recording) read(t *testing.T) *told {
	t.Helper()
	all := &told{spans: map[spanID]*harness.Span{}, children: map[spanID][]*harness.Span{}}
	for _, e := range r.exports {
		for s := range e.Spans() {
			all.spans[spanID{s.Trace, s.ID}] = s
			if s.Parent != "" {
				parent := spanID{s.Trace, s.Parent}
				all.children[parent] = append(all.children[parent], s)
			}
		}
	}
	for line := range strings.Lines(string(r.audit(t))) {
		var e auditEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("cannot read the audit log: %v", err)
		}
		if e.Stage == "ResponseComplete" {
			all.events = append(all.events, e)
		}
	}
	return all
}

// named returns the spans of a service with that name.
func (all *told) named(service, name string) []*harness.Span {
	return slices.DeleteFunc(slices.Collect(maps.Values(all.spans)), func(s *harness.Span) bool {
		return s.Service != service || s.Name != name
	})
}

// below returns a span's descendants.
func (all *told) below(s *harness.Span) []*harness.Span {
	var out []*harness.Span
	for _, child := range all.children[spanID{s.Trace, s.ID}] {
		out = append(append(out, child), all.below(child)...)
	}
	return out
}

// requests returns the API server's spans of requests, by audit-id.
func (all *told) requests() map[string][]*harness.Span {
	out := map[string][]*harness.Span{}
	for _, s := range all.spans {
		// The steps of some requests carry the attribute, too.
		if id := s.Attributes["audit-id"]; id != "" && s.Attributes["http.target"] != "" && s.Service == "apiserver" {
			out[id] = append(out[id], s)
		}
	}
	return out
}

// checkFacts holds what docs/foreign-spans.md says of every request and every
// Pod against the recording.
func (r *recording) checkFacts(t *testing.T) {
	t.Helper()
	all := r.read(t)
	all.checkRequests(t)
	all.checkPods(t)
}

func (all *told) checkRequests(t *testing.T) {
	t.Helper()
	spans := all.requests()
	for _, e := range all.events {
		got := spans[e.AuditID]
		if len(got) != 1 {
			t.Errorf(
				"%s %s of %s has %d spans with its audit-id, want 1",
				e.Verb,
				e.ObjectRef.Resource,
				e.User.Username,
				len(got),
			)
			continue
		}
		s := got[0]
		if e.Verb == "create" && e.ResponseStatus.Code == 201 &&
			!slices.ContainsFunc(all.below(s), func(s *harness.Span) bool {
				return s.Service == "etcd" && s.Name == "etcdserverpb.KV/Txn"
			}) {
			t.Errorf("%s was stored, and no span of etcd is below it", s.Name)
		}
		if strings.HasPrefix(e.User.Username, "system:node:") {
			all.checkLinked(t, s, "kubelet")
		}
	}
}

// checkCreation expects of the request that made the Deployment what the user's
// rights and a context make of it.
func (all *told) checkCreation(t *testing.T, trusted, context bool) {
	t.Helper()
	made := all.named("apiserver", "POST /apis/apps/v1/namespaces/{:namespace}/deployments")
	if len(made) != 1 {
		t.Fatalf("%d requests made a Deployment, want 1", len(made))
	}
	s := made[0]
	parent := all.spans[spanID{s.Trace, s.Parent}]
	switch {
	case trusted && context: // the parent is lifeline's, which sends no spans here
		if s.Parent == "" || parent != nil || len(s.Links) != 0 {
			t.Errorf("parent %+v, links %+v: want the client's as parent", parent, s.Links)
		}
	case trusted:
		if parent == nil || parent.Name != "authentication" || parent.Parent != "" {
			t.Errorf("parent %+v: want a root authentication", parent)
		}
	default:
		want := 0
		if context {
			want = 1
		}
		if s.Parent != "" || len(s.Links) != want {
			t.Errorf(
				"parent %+v, links %+v: want a root, with a link to the client if that sends a context",
				parent,
				s.Links,
			)
		}
	}
}

// checkLinked expects a root that links to the caller's span.
func (all *told) checkLinked(t *testing.T, s *harness.Span, caller string) {
	t.Helper()
	if s.Parent != "" || len(s.Links) != 1 {
		t.Errorf("%s of %s has parent %q and %d links, want a root with one", s.Name, caller, s.Parent, len(s.Links))
		return
	}
	to := all.spans[spanID{s.Links[0].Trace, s.Links[0].Span}]
	if to == nil || to.Service != caller || !strings.HasPrefix(to.Name, "HTTP ") {
		t.Errorf("%s links to %+v, want the client's span of %s", s.Name, to, caller)
	}
}

func (all *told) checkPods(t *testing.T) {
	t.Helper()
	for _, sync := range all.named("kubelet", "syncPod") {
		uid := sync.Attributes["k8s.pod.uid"]
		if uid == "" || sync.Parent != "" {
			t.Errorf("syncPod %v has parent %q: want a root with a Pod's UID", sync.Attributes, sync.Parent)
		}
		for _, call := range all.children[spanID{sync.Trace, sync.ID}] {
			served := all.children[spanID{call.Trace, call.ID}]
			if len(served) != 1 || served[0].Service != "containerd" || served[0].Name != call.Name {
				t.Errorf("below the kubelet's %s: %+v, want containerd's", call.Name, served)
				continue
			}
			all.checkNames(t, served[0], uid)
		}
	}
}

// checkNames expects that containerd names what it makes after the Pod.
func (all *told) checkNames(t *testing.T, s *harness.Span, uid string) {
	t.Helper()
	if s.Error {
		return
	}
	switch {
	case strings.HasSuffix(s.Name, "/RunPodSandbox"):
		i := slices.IndexFunc(all.below(s), func(s *harness.Span) bool { return s.Name == "cri.sandbox.run" })
		if i < 0 || !strings.Contains(all.below(s)[i].Attributes["sandbox.name"], "_"+uid+"_") {
			t.Errorf("no cri.sandbox.run with a sandbox.name that holds the Pod's UID %s", uid)
		}
	case strings.HasSuffix(s.Name, "/CreateContainer"):
		if !strings.Contains(s.Attributes["container.name"], "_"+uid+"_") || s.Attributes["sandbox.id"] == "" ||
			s.Attributes["container.id"] == "" {
			t.Errorf("%s %v: want the names of container and sandbox, with the Pod's UID %s", s.Name, s.Attributes, uid)
		}
	case strings.HasSuffix(s.Name, "/StartContainer"):
		if s.Attributes["sandbox.id"] == "" || s.Attributes["container.id"] == "" {
			t.Errorf("%s %v: want the IDs of container and sandbox", s.Name, s.Attributes)
		}
	}
}
