// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Change is one change of the cluster and all its effects. In a namespace it has the part that belongs to the
// namespace. It can only be read.
type Change struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// InvolvedObject is the changed object; nil for a command with several.
	InvolvedObject *Object      `json:"involvedObject,omitempty"`
	Spec           ChangeSpec   `json:"spec"`
	Status         ChangeStatus `json:"status"`
}

// Object is the identity of an object.
type Object struct {
	Group     string    `json:"apiGroup,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// ChangeSpec is the request that began a change.
type ChangeSpec struct {
	Verb    string   `json:"verb,omitempty"`
	User    string   `json:"user,omitempty"`
	Actor   string   `json:"actor,omitempty"`
	Command string   `json:"command,omitempty"`
	Edits   []string `json:"edits,omitempty"`
	Heals   string   `json:"heals,omitempty"`
	Fight   string   `json:"fight,omitempty"`
}

// ChangeStatus is the course of a change. Why and Steps are only in the answer for one object.
type ChangeStatus struct {
	State          span.State   `json:"state"`
	Outcome        span.Outcome `json:"outcome,omitempty"`
	Category       string       `json:"category,omitempty"`
	Reason         string       `json:"reason,omitempty"`
	StartTime      metav1.Time  `json:"startTime"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	Duration       string       `json:"duration,omitempty"`
	Slowest        string       `json:"slowest,omitempty"`
	Spans          int          `json:"spans"`
	// Aftermath is what happened to the Pods of a converged change afterwards, in words.
	Aftermath string   `json:"aftermath,omitempty"`
	Why       []string `json:"why,omitempty"`
	Steps     []string `json:"steps,omitempty"`
}

// ChangeList is a list of changes, newest first.
type ChangeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []*Change `json:"items"`
}

// The labels of a change.
const (
	stateLabel    = Group + "/state"
	categoryLabel = Group + "/category"
)

// changeOf returns the object of a change.
func (t target) changeOf(s *api.Summary) *Change {
	c := &Change{
		TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion, Kind: t.kind()},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.TraceID, Namespace: t.namespaceOf(s), UID: uidOf(s.TraceID),
			ResourceVersion: versionOf(s.AsOf), CreationTimestamp: metav1.Time{Time: s.Start},
			Labels: map[string]string{stateLabel: string(s.State)},
		},
		Spec: ChangeSpec{
			Verb: s.Verb, User: shown(s.User), Actor: shown(s.Actor), Command: shown(s.Command), Heals: shown(s.Heals),
			Fight: shown(s.Fight),
		},
		Status: ChangeStatus{
			State: s.State, Outcome: outcomeOf(s), Category: s.Category, Reason: shown(s.Reason),
			StartTime: metav1.Time{Time: s.Start}, Slowest: shown(s.Slowest), Spans: s.Spans,
		},
	}
	if s.Aftermath != nil {
		c.Status.Aftermath = shown(s.Aftermath.Text)
	}
	for _, e := range s.Edits {
		c.Spec.Edits = append(c.Spec.Edits, shown(e))
	}
	if s.Category != "" {
		c.Labels[categoryLabel] = s.Category
	}
	if s.State.Ended() {
		c.Status.Duration = lengthOf(time.Duration(s.Duration))
		c.Status.CompletionTime = &metav1.Time{Time: s.Start.Add(time.Duration(s.Duration))}
	}
	if of := s.Object; of != nil {
		c.InvolvedObject = &Object{
			Group: of.Group, Kind: of.Kind.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID,
		}
	}
	return c
}

// outcomeOf returns the outcome of a change; empty before its end.
func outcomeOf(s *api.Summary) span.Outcome {
	if !s.State.Ended() {
		return ""
	}
	return span.Outcome(s.State)
}

// lengthOf formats a duration as Kubernetes does, to the millisecond.
func lengthOf(d time.Duration) string { return max(0, d).Round(time.Millisecond).String() }

// shown returns a text of the cluster, bounded and escaped.
func shown(s string) string { return render.Escape(object.Bound(s)) }

// uidOf returns a trace ID in the form of a UID.
func uidOf(id string) types.UID {
	if len(id) != idLength {
		return types.UID(id)
	}
	return types.UID(strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-"))
}

// idLength is the length of the name of a change.
const idLength = 32

// validName reports whether a name may be that of a change.
func validName(name string) bool {
	return len(name) == idLength && strings.Trim(name, "0123456789abcdef") == ""
}

// versionOf returns the resource version of a time: its nanoseconds. Later versions are larger.
func versionOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixNano(), 10)
}

// timeOf returns the time of a resource version.
func timeOf(version string) (time.Time, error) {
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}, fmt.Errorf("%.40q is no resource version of a change", version)
	}
	return time.Unix(0, n).UTC(), nil
}
