// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// Roles names the objects of one namespace by the parts that they play: an object
// that came about in the same way somewhere else has the same name there. A
// ReplicaSet is a letter after its Deployment's name, in order of creation; what
// else a controller makes, and what has a generated name, is all one.
type Roles struct {
	by    map[string]string // of UIDs
	sets  map[string]int    // how many ReplicaSets an owner has had
	named map[string]string // of "resource/name": the last of a name
}

// RolesOf are those of all objects that were written.
func RolesOf(all []audit.Write) Roles {
	r := Roles{by: map[string]string{}, sets: map[string]int{}, named: map[string]string{}}
	// The log is in order of answers: an object may come before its owner.
	var late []audit.Write
	for _, w := range all {
		if !r.learn(w, false) {
			late = append(late, w)
		}
	}
	for _, w := range late {
		r.learn(w, true)
	}
	return r
}

// learn reports whether the part of an object is known; anyway it is if its owner
// need not be.
func (r Roles) learn(w audit.Write, anyway bool) bool {
	if w.UID == "" || w.Object == nil || r.by[w.UID] != "" {
		return true
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(w.Object, &o); err != nil {
		return true
	}
	label := o.Name
	if o.GenerateName != "" {
		label = o.GenerateName + "*"
	}
	if owner := metav1.GetControllerOf(&o); owner != nil {
		above, known := r.by[string(owner.UID)]
		if !known && !anyway {
			return false
		}
		_, above, _ = strings.Cut(above, " ")
		label = above + "-*"
		if w.Resource == "replicasets" {
			label = fmt.Sprintf("%s-%c", above, 'A'+r.sets[above])
			r.sets[above]++
		}
	}
	r.by[w.UID] = w.Resource + " " + label
	r.named[w.Resource+"/"+o.Name] = r.by[w.UID]
	return true
}

// Of is the part that the written object plays.
func (r Roles) Of(w audit.Write) string {
	if role := r.by[w.UID]; role != "" {
		return role
	}
	if role := r.named[w.Resource+"/"+w.Name]; role != "" {
		return role
	}
	return w.Resource + " " + w.Name
}
