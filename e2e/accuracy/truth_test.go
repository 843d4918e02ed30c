// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// truth is what the audit log says of a scenario.
type truth struct {
	// writes are the writes to desired state, in the order of the log.
	writes []audit.Write
	// all are all writes, by identity: a change may begin with a status.
	all map[stored.Key]*audit.Write
	// uninstalls are the updates that begin the deletion of a Helm release.
	uninstalls map[stored.Key]bool
	// names are readable names of objects, by UID.
	names map[string]string
}

// truthOf reads the writes of a scenario. all are those of its namespace and of its cluster-scoped
// objects; those before since are the scenery.
func truthOf(all []audit.Write, since int) truth {
	tr := truth{names: namesOf(all), all: map[stored.Key]*audit.Write{}, uninstalls: map[stored.Key]bool{}}
	last, going := map[string]stored.Content{}, map[string]bool{}
	for i := range all {
		w := &all[i]
		if w.UID == "" {
			w.UID = uidOf(all[:i], w)
		}
		if uninstalls(w) {
			tr.uninstalls[stored.KeyOf(w)] = true
			w.Verb = "delete"
		}
		if i >= since && tr.all[stored.KeyOf(w)] == nil {
			tr.all[stored.KeyOf(w)] = w
		}
		before, known := last[w.UID]
		now := stored.ContentOf(w)
		if before.OK && w.Resource == "applications" && now.Wish["operation"] == nil {
			delete(before.Wish, "operation") // Argo CD has begun the sync
		}
		if now.OK && w.Subresource != "scale" {
			last[w.UID] = now
		}
		switch verb := stored.VerbOf(w); {
		case slices.Contains(stored.Unwatched, w.Resource):
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
		case now.Lost && !before.Lost:
			tr.writes = append(tr.writes, *w)
		case known && now.OK && (!reflect.DeepEqual(before.Wish, now.Wish) ||
			isPerson(w.User) && !reflect.DeepEqual(before.Marks, now.Marks)):
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
	return isRelease(w) && w.Verb == "update" && stored.ContentOf(w).Marks["labels/status"] == "uninstalling"
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
