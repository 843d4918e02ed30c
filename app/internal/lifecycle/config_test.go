// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// set changes a field of an object.
func set(path string) func(*observation.State) {
	return func(st *observation.State) {
		var leaves []observation.Leaf
		for _, l := range st.Leaves {
			if l.Path != path {
				leaves = append(leaves, l)
			}
		}
		leaves = append(leaves, observation.Leaf{Path: path, Value: st.ResourceVersion, Managers: 1})
		st.Leaves = leaves
		st.Generation++
		st.Desired++
	}
}

// content is the manifest of a ConfigMap, and then a change of its content.
func content(st *observation.State) {
	ofKind("", kind.ConfigMap.Kind.Kind)(st)
	set(observation.PathData)(st)
	st.Reconciled, st.Generation = false, 0
	st.Progress = observation.ProgressCurrent
}

// reads gives a Deployment a ConfigMap.
func reads(name string) func(*observation.State) {
	return func(st *observation.State) {
		to := object.Name{Kind: kind.ConfigMap.Kind.Kind, Namespace: "default", Name: name}
		st.Relations = append(st.Relations, object.Relation{Type: object.Config, To: to})
	}
}

const (
	restart  = "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"
	newImage = "spec.template.spec.containers[name=app].image"
	replicas = "spec.replicas"
	reloader = "spec.template.spec.containers[name=app].env[name=STAKATER_SETTINGS_CONFIGMAP].value"
)

// TestConfigRestart: a restart links to the changes of the content that it reads since the last change
// of its template, whether these changes are remembered or still known.
func TestConfigRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		// want are the names of the objects to which the restart is linked with the reason config.
		want []string
	}{
		"Edited": {"the content was changed before", func(s *story) {
			s.write("web", set(restart), arrived)
		}, []string{"settings"}},
		"Stakater Reloader": {"a variable of the container has the digest of the content", func(s *story) {
			s.write("web", set(reloader), arrived)
		}, []string{"settings"}},
		"Other variable": {"another variable is no restart", func(s *story) {
			s.write("web", set("spec.template.spec.containers[name=app].env[name=LEVEL].value"), arrived)
		}, nil},
		"Other content": {"only one of two is read", func(s *story) {
			s.write("unread", content)
			s.write("web", set(restart), arrived)
		}, []string{"settings"}},
		"Both": {"each content has a link", func(s *story) {
			s.write("more", content)
			s.write("web", set(restart), arrived)
		}, []string{"more", "settings"}},
		"Labelled": {"a label is no content", func(s *story) {
			s.write("more", set("metadata.labels.tier"))
			s.write("web", set(restart), arrived)
		}, []string{"settings"}},
		"Image": {"a new image is no restart", func(s *story) {
			s.write("web", set(newImage), arrived)
		}, nil},
		"Restarted twice": {"the first restart has taken it in", func(s *story) {
			s.write("web", set(restart), arrived)
			s.wait(10 * time.Second)
			s.write("web", set(restart), arrived)
		}, nil},
		"Scaled": {"a scaling takes nothing in", func(s *story) {
			s.write("web", set(replicas), arrived)
			s.wait(10 * time.Second)
			s.write("web", set(restart), arrived)
		}, []string{"settings"}},
		"Edited twice": {"a change after the restart changes no link", func(s *story) {
			s.write("web", set(restart))
			s.wait(10 * time.Second)
			s.write("settings", content)
			s.wait(10 * time.Second)
			s.write("web", arrived)
		}, []string{"settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("settings", content)
			s.write("more", content)
			s.write("unread", content)
			s.write("web", deployment(0), reads("more"), reads("settings"), set(newImage), set(replicas), arrived)
			s.wait(10 * time.Second)
			first := s.rv
			s.write("settings", content)
			s.wait(10 * time.Second)
			tc.tell(s)
			end := s.now().Add(time.Minute)
			if diff := cmp.Diff(tc.want, configLinks(observe(s.seen).Traces(end), first)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, configLinks(looks(s), first)); diff != "" {
				t.Errorf("%s, with a look every second: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, func(traces []*span.Trace) []string { return configLinks(traces, first) })
		})
	}
}

// looks returns the traces of a server that looks every second.
func looks(s *story) []*span.Trace {
	e, at := New(Options{Cluster: "test"}), epoch
	var out []*span.Trace
	until := func(end time.Time) {
		for ; at.Before(end); at = at.Add(time.Second) {
			out = append(out, e.Take(at)...)
		}
	}
	for _, o := range s.seen {
		until(o.Seen)
		e.Observe(o)
	}
	until(s.now().Add(time.Minute))
	return out
}

// configLinks returns the names of the objects to which the last change of web is linked with the reason
// config. The name of a change up to the resourceVersion first begins with "old".
func configLinks(traces []*span.Trace, first uint64) []string {
	names := map[[24]byte]string{}
	var last *span.Span
	for _, tr := range traces {
		for _, sp := range tr.Spans {
			var key [24]byte
			copy(key[:], sp.TraceID[:])
			copy(key[16:], sp.ID[:])
			names[key] = sp.Object.Name
			for _, ev := range sp.Events {
				for _, kv := range ev.Attributes {
					if kv.Key == span.KeyRV && uint64(kv.Value.AsInt64()) <= first {
						names[key] = "old " + sp.Object.Name
					}
				}
			}
			if sp.Object.Name == "web" && sp.IsReconciliation() {
				last = sp
			}
		}
	}
	var out []string
	for _, l := range last.Links {
		var key [24]byte
		copy(key[:], l.TraceID[:])
		copy(key[16:], l.SpanID[:])
		if l.Reason == "config" {
			out = append(out, names[key])
		}
	}
	return out
}
