// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestRewrittenImage: the reason of a Pod with another image than its template names the policies that may have
// changed it.
func TestRewrittenImage(t *testing.T) {
	mutator := func(s *story, of, name string) {
		s.write(name, ofKind(kind.Admission, of), func(st *observation.State) {
			st.Namespace, st.Progress = "", observation.ProgressCurrent
			st.Relations = []object.Relation{{Type: object.Mutates, To: kind.NewPods}}
		})
	}
	policy := func(s *story, name string) { mutator(s, kind.MutatingPolicy, name) }
	webhooks := func(s *story, name string) { mutator(s, kind.MutatingWebhooks, name) }
	binding := func(s *story, name string) {
		s.write(name+"-binding", ofKind(kind.Admission, kind.MutatingPolicyBinding), func(st *observation.State) {
			st.Namespace, st.Progress = "", observation.ProgressCurrent
			st.Relations = []object.Relation{{
				Type: object.Mutates, To: object.Name{Group: kind.Admission, Kind: kind.MutatingPolicy, Name: name},
			}}
		})
	}
	blog := func(s *story) {
		s.wait(time.Second)
		s.write("blog", deployment(1))
		s.write("blog-1", replicaSet("blog", 1), shown("spec.template.spec.containers[name=app].image", "blog:1"))
		s.write("blog-1-a", pod("blog-1"), bind)
		s.write("blog-1-a", func(st *observation.State) {
			c := &st.Pod.Containers[0]
			c.Image = "mirror.example/blog:1"
			c.State = &observation.ContainerState{Waiting: true, Reason: "ErrImagePull", Message: "not found"}
		})
	}
	const changed = "Pod blog-1-a cannot pull image mirror.example/blog:1 of container app: not found; " +
		"admission changed its image from blog:1"
	for name, tc := range map[string]struct {
		tell func(*story)
		want string
	}{
		"unknown": {blog, changed},
		"policy": {func(s *story) {
			policy(s, "mirror")
			binding(s, "mirror")
			blog(s)
		}, changed + " (MutatingAdmissionPolicy mirror)"},
		"without a binding": {func(s *story) {
			policy(s, "mirror")
			blog(s)
		}, changed},
		"webhook": {func(s *story) { // the audit log names it, and shows that the other one changed nothing
			webhooks(s, "other")
			blog(s)
			s.audited("blog-1-a", "create", func(w *observation.Write) { w.Mutators = []string{"mirrors"} })
		}, changed + " (MutatingWebhookConfiguration mirrors)"},
		"webhook or policy": {func(s *story) {
			policy(s, "mirror")
			binding(s, "mirror")
			blog(s)
			s.audited("blog-1-a", "create", func(w *observation.Write) { w.Mutators = []string{"mirrors"} })
		}, changed + " (MutatingAdmissionPolicy mirror or MutatingWebhookConfiguration mirrors)"},
		"webhook without the audit log": {func(s *story) {
			webhooks(s, "other")
			blog(s)
		}, changed + " (MutatingWebhookConfiguration other)"},
		"later": {func(s *story) {
			blog(s)
			s.wait(10 * time.Second)
			policy(s, "mirror")
			binding(s, "mirror")
		}, changed},
		"one of two": {func(s *story) {
			for _, name := range []string{"mirror", "defaults"} {
				policy(s, name)
				binding(s, name)
			}
			blog(s)
		}, changed + " (MutatingAdmissionPolicy defaults or MutatingAdmissionPolicy mirror)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			got := ""
			for _, tr := range observe(s.seen).Traces(s.now().Add(time.Second)) {
				if tr.Root().Object.Name == "blog" {
					got = tr.Reason
				}
			}
			if got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
