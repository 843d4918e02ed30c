// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// texts cleans the messages of one object or Event, by the mode of its kind.
type texts struct {
	kept   bool
	masked bool
	// early means that values of relatives may be unknown yet. Then text is withheld, and sets waits.
	early, waits bool
	message.Cleaner
}

// texts returns the texts of a kind. Values are those of the object and of its relatives, known if all of them
// are. Text of an object with unknown values is withheld.
func (n *Normalizer) texts(of schema.GroupKind, early bool, values func() (mask.Values, bool)) *texts {
	t := new(texts)
	switch n.Messages.For(of) {
	case mask.Keep:
		t.kept = true
		return t
	case mask.Strict:
		return t
	}
	if message.Confidential(of.Kind) && of.Group == "" || runsPrograms(of) {
		return t
	}
	v, known := values()
	// The values of Pods are in the template of their controllers, so their owners need not wait.
	if early && (!known || v.Unread() || !kind.BuiltIn(of.Group)) {
		t.early = true
		return t
	}
	if !known {
		return t
	}
	t.Text = func(text string) string {
		t.masked = true
		return v.Mask(text)
	}
	if makesPods(of) {
		t.Refused = t.Text
	}
	return t
}

// clean returns a message without quoted values.
func (t *texts) clean(text string) string {
	if !t.kept {
		clean := t.Clean(text)
		t.waits = t.waits || t.early && strings.Contains(clean, message.Withheld)
		return clean
	}
	text = observation.OneLine(text)
	if message.Clean(text) == text {
		return text
	}
	return object.Bound(message.Quote(text))
}

// harmless reports whether a word has no value of the object.
func (t *texts) harmless(word string) bool { return t.Text == nil || t.Text(word) == word }

// textsOf returns the texts of an object whose version s is. Its values are remembered.
func (n *Normalizer) textsOf(s *observation.State, obj fields, words *mask.Words, early bool) *texts {
	gk := schema.GroupKind{Group: s.Group, Kind: s.Kind.Kind}
	if words == nil {
		return n.texts(gk, false, func() (v mask.Values, known bool) { return v, false })
	}
	n.remember(s, obj, words)
	return n.texts(gk, early, func() (mask.Values, bool) {
		v, known := n.Memory.Of(s.UID, earlier(s))
		if !known {
			return v, false
		}
		return n.Memory.And(v, words) // the memory may have later versions by now
	})
}

// wordsOf returns the values of an object; nil if no message needs them.
func (n *Normalizer) wordsOf(gk schema.GroupKind, obj fields) *mask.Words {
	if !n.Messages.Masks() {
		return nil
	}
	return n.Memory.Collect(obj, !kind.BuiltIn(gk.Group))
}

// remember puts the values of an object into the memory.
func (n *Normalizer) remember(s *observation.State, obj fields, words *mask.Words) {
	v := mask.Version{
		Ref: &s.Ref, ResourceVersion: s.ResourceVersion, Owners: s.Owners, Words: words, Written: written(s),
	}
	for _, r := range s.Relations {
		if r.Type == object.Applied {
			v.Applied = r.To
		}
	}
	all, complete := reads(s, obj)
	if v.Reads = all; !complete {
		v.Words = mask.Unknown()
	}
	n.Memory.Put(&v)
}

// written returns the time of the last change outside the status; zero for an object without any since its
// creation.
func written(s *observation.State) (at time.Time) {
	if s.Generation <= 1 {
		return at
	}
	for _, m := range s.Managers {
		if m.Subresource != "status" && m.Time.After(at) {
			at = m.Time
		}
	}
	return at
}

// earlier reports whether messages of an object can be about an earlier version than the present one.
func earlier(s *observation.State) bool {
	if s.Generation <= 1 {
		return false
	}
	if s.ObservedGeneration >= 0 {
		return s.ObservedGeneration < s.Generation
	}
	since := written(s)
	return slices.ContainsFunc(s.Conditions, func(c observation.Condition) bool {
		return !c.Since.IsZero() && c.Since.Before(since)
	})
}

// makesPods reports whether refusals in the messages of a kind are about Pods and volumes that it makes from its
// own fields. All others are about objects with unknown values.
func makesPods(of schema.GroupKind) bool {
	switch of.Group {
	case "":
		return of.Kind == "Pod" || of.Kind == "ReplicationController"
	case "apps", "batch":
		return true
	}
	return of == schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
}

// programs are the groups whose objects report the output of programs in their status: logs of build steps, of
// plans and of tests. programKinds are such kinds of other groups.
var (
	programs = []string{
		"tekton.dev", "operator.tekton.dev", "infra.contrib.fluxcd.io", "infra.weave.works", "tf.isaaguilar.com",
		"tf.upbound.io", "tf.crossplane.io", "pulumi.com", "auto.pulumi.com",
		"opentofu.upbound.io", "app.terraform.io", "ansible.crossplane.io", "awx.ansible.com", "shipwright.io",
		"build.openshift.io", "kpack.io", "k6.io", "tests.testkube.io", "executor.testkube.io", "cr.kanister.io",
	}
	programKinds = []schema.GroupKind{
		{Group: "argoproj.io", Kind: "Workflow"}, {Group: "argoproj.io", Kind: "WorkflowTaskSet"},
		{Group: "argoproj.io", Kind: "WorkflowTaskResult"}, {Group: "argoproj.io", Kind: "CronWorkflow"},
		{Group: "argoproj.io", Kind: "AnalysisRun"}, {Group: "argoproj.io", Kind: "Experiment"},
	}
)

func runsPrograms(of schema.GroupKind) bool {
	return slices.Contains(programs, of.Group) || slices.Contains(programKinds, of)
}

// programReasons are the reasons of Events with the output of a probe or of a hook.
var programReasons = []string{
	"Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook", "FailedPreStartHook",
	"FailedPreCreateHook",
}
