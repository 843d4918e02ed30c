// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// truth is what the audit log says of a scenario.
type truth struct {
	// writes are the writes to desired state, in the order of the log.
	writes []audit.Write
	// all are all writes, by identity: a change may begin with a status.
	all map[written]*audit.Write
	// uninstalls are the updates that begin the deletion of a Helm release.
	uninstalls map[written]bool
	// names are readable names of objects, by UID.
	names map[string]string
}

// written identifies a stored write: by its resourceVersion, or as the deletion of the object.
type written struct{ uid, version string }

// deletion stands for the resourceVersion of a deletion, which some answers do not name.
const deletion = "deletion"

func keyOf(w *audit.Write) written {
	if verbOf(w) == "delete" {
		return written{w.UID, deletion}
	}
	return written{w.UID, w.ResourceVersion}
}

// verbOf returns create, update or delete.
func verbOf(w *audit.Write) string {
	switch {
	case w.Verb == "delete", w.Verb == "deletecollection", w.Subresource == "eviction":
		return "delete"
	case w.Code == 201 && w.Subresource == "":
		return "create"
	}
	return "update"
}

// unjudged are resources that a server does not watch.
var unjudged = []string{"events", "leases", "endpoints", "secrets"}

// truthOf reads the writes of a scenario. all are those of its namespace and of its cluster-scoped
// objects; those before since are the scenery.
func truthOf(all []audit.Write, since int) truth {
	tr := truth{names: namesOf(all), all: map[written]*audit.Write{}, uninstalls: map[written]bool{}}
	last, going := map[string]object{}, map[string]bool{}
	for i := range all {
		w := &all[i]
		if w.UID == "" {
			w.UID = uidOf(all[:i], w)
		}
		if uninstalls(w) {
			tr.uninstalls[keyOf(w)] = true
			w.Verb = "delete"
		}
		if i >= since && tr.all[keyOf(w)] == nil {
			tr.all[keyOf(w)] = w
		}
		before, known := last[w.UID]
		now := objectOf(w)
		if before.ok && w.Resource == "applications" && now.wish["operation"] == nil {
			delete(before.wish, "operation") // Argo CD has begun the sync
		}
		if now.ok && w.Subresource != "scale" {
			last[w.UID] = now
		}
		switch verb := verbOf(w); {
		case slices.Contains(unjudged, w.Resource):
		case verb == "delete":
			if !going[w.UID] && i >= since {
				tr.writes = append(tr.writes, *w)
			}
			going[w.UID] = true
		case w.Resource == "endpointslices" && verb == "update" && !isPerson(w.User):
			// Its Service's change is over; it follows the Pods and is in no trace.
		case isRelease(w) && verb == "update":
			// It is the status of a revision.
		case i < since, !slices.Contains([]string{"", "scale", "resize", "ephemeralcontainers"}, w.Subresource):
		case verb == "create", w.Subresource != "":
			tr.writes = append(tr.writes, *w)
		case now.lost && !before.lost:
			tr.writes = append(tr.writes, *w)
		case known && now.ok && (!reflect.DeepEqual(before.wish, now.wish) ||
			isPerson(w.User) && !reflect.DeepEqual(before.marks, now.marks)):
			tr.writes = append(tr.writes, *w)
		}
	}
	return tr
}

// isRelease reports whether Helm stores a revision of a release in the object.
func isRelease(w *audit.Write) bool {
	return w.Resource == "configmaps" && strings.HasPrefix(w.Name, "sh.helm.release.v1.")
}

// uninstalls reports whether Helm begins to delete the objects of a release with w. It deletes the
// revisions last.
func uninstalls(w *audit.Write) bool {
	return isRelease(w) && w.Verb == "update" && objectOf(w).marks["labels/status"] == "uninstalling"
}

func uidOf(before []audit.Write, w *audit.Write) string {
	for _, b := range slices.Backward(before) {
		if b.Resource == w.Resource && b.Name == w.Name && b.UID != "" {
			return b.UID
		}
	}
	return ""
}

func isPerson(user string) bool { return slices.Contains(people, user) }

// object is an answer in parts: wish is the content without status and metadata, marks are labels and
// annotations. A node with a taint against Pods, because its kubelet has stopped, is lost.
type object struct {
	ok, lost    bool
	wish, marks map[string]any
}

// results are fields of a spec that a controller fills in, by resource: the result of binding, and copies from
// the objects of the providers of Cluster API.
var results = map[string][]string{
	"persistentvolumes":      {"claimRef"},
	"persistentvolumeclaims": {"volumeName"},
	"clusters":               {"controlPlaneEndpoint"},
	"machines":               {"providerID", "bootstrap.dataSecretName"},
}

// remove removes the field at a path of at most two names.
func remove(fields map[string]any, path string) {
	above, name, nested := strings.Cut(path, ".")
	if !nested {
		delete(fields, path)
	} else if inner, ok := fields[above].(map[string]any); ok {
		delete(inner, name)
	}
}

func objectOf(w *audit.Write) object {
	var all map[string]any
	if w.Object == nil || json.Unmarshal(w.Object, &all) != nil {
		return object{}
	}
	if all["kind"] == "PartialObjectMetadata" {
		return object{}
	}
	meta, _ := all["metadata"].(map[string]any)
	lost := false
	if spec, ok := all["spec"].(map[string]any); ok && w.Resource == "nodes" {
		taints, _ := spec["taints"].([]any)
		taints = slices.DeleteFunc(taints, func(t any) bool { // these follow the conditions
			m, _ := t.(map[string]any)
			key, _ := m["key"].(string)
			lost = lost || key == "node.kubernetes.io/unreachable" && m["effect"] == "NoExecute"
			return strings.HasPrefix(key, "node.kubernetes.io/")
		})
		if delete(spec, "taints"); len(taints) > 0 {
			spec["taints"] = taints
		}
	}
	if spec, ok := all["spec"].(map[string]any); ok {
		for _, path := range results[w.Resource] {
			remove(spec, path)
		}
	}
	for _, field := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(all, field)
	}
	marks := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		values, _ := meta[field].(map[string]any)
		for k, v := range values {
			if !strings.HasPrefix(k, "deployment.kubernetes.io/") &&
				!strings.HasPrefix(k, "kubectl.kubernetes.io/last") {
				marks[field+"/"+k] = v
			}
		}
	}
	return object{ok: true, lost: lost, wish: all, marks: marks}
}

// namers are kinds whose controllers generate the names of their dependants.
var namers = []string{"CronJob", "MachineDeployment", "MachineSet"}

// namesOf gives generated names a readable form: web-A is the first ReplicaSet of web, web-A-* are its
// Pods.
func namesOf(all []audit.Write) map[string]string {
	names, sets := map[string]string{}, map[string]int{}
	for range 2 { // the log is in order of answers: an object may come before its owner
		for i := range all {
			w := &all[i]
			var o metav1.PartialObjectMetadata
			if w.UID == "" || names[w.UID] != "" || w.Object == nil || json.Unmarshal(w.Object, &o) != nil {
				continue
			}
			owner := metav1.GetControllerOf(&o)
			switch {
			case owner != nil && w.Resource == "replicasets":
				above := names[string(owner.UID)]
				if above == "" {
					continue
				}
				names[w.UID] = fmt.Sprintf("%s-%c", above, 'A'+sets[above])
				sets[above]++
			case owner != nil && (o.GenerateName != "" ||
				slices.Contains(namers, owner.Kind) && strings.HasPrefix(o.Name, owner.Name)):
				if above := names[string(owner.UID)]; above != "" {
					names[w.UID] = above + "-*"
				}
			default:
				names[w.UID] = o.Name
			}
		}
	}
	return names
}

// accounts begins the users that are service accounts: NAMESPACE:NAME follows.
const accounts = "system:serviceaccount:"

// shortUser returns a user as the scenarios name it: a service account by its name alone.
func shortUser(user string) string {
	if account, ok := strings.CutPrefix(user, accounts); ok {
		return account[strings.IndexByte(account, ':')+1:]
	}
	return strings.TrimPrefix(user, "system:")
}
