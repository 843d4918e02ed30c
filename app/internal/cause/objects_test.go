// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// The traces of contexts from outside, and of commands.
const (
	traceA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	traceB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// Fields of objects.
const (
	fieldReplicas = "spec.replicas"
	fieldImage    = "spec.template.spec.containers[name=app].image"
	fieldRestart  = "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"
)

func traceParent(id string, n int) string { return fmt.Sprintf("00-%s-%016x-01", id, n) }

// of gives the object a kind. A group has a dot, or is one of the old ones.
func of(group, kind string) trait {
	return func(st *state) { st.Group, st.Version, st.Kind.Kind = group, "v1", kind }
}

// clusterScoped is an object without a namespace.
func clusterScoped(st *state) { st.Namespace = "" }

// named gives the object another name than the one in the case.
func named(name string) trait { return func(st *state) { st.Name = name } }

// elsewhere puts the object into another namespace.
func elsewhere(st *state) { st.Namespace = "other" }

// owned gives the object a controller.
func owned(group, kind, name string) trait { return ownedBy(group, kind, name, true) }

// plainlyOwned gives the object an owner that is not its controller.
func plainlyOwned(group, kind, name string) trait { return ownedBy(group, kind, name, false) }

func ownedBy(group, kind, name string, controller bool) trait {
	return func(st *state) {
		st.Owners = append(st.Owners, object.Owner{
			Kind: object.Kind{Group: group, Version: "v1", Kind: kind}, Name: name, UID: types.UID("uid-" + name),
			Controller: controller,
		})
	}
}

// by is the entry of a field manager that wrote the object.
func by(manager string) trait { return bySubresource(manager, "") }

// bySubresource is by for a subresource. The entries for the status are last.
func bySubresource(manager, subresource string) trait {
	return func(st *state) {
		st.Managers = slices.DeleteFunc(st.Managers, func(m observation.Manager) bool {
			return m.Name == manager && m.Subresource == subresource
		})
		st.Managers = append(st.Managers, observation.Manager{
			Name: manager, Operation: "Update", Subresource: subresource, Fields: st.ResourceVersion,
			Time: written(st).Truncate(time.Second),
		})
	}
}

// written returns the time of the version.
func written(st *observation.State) time.Time {
	return epoch.Add(time.Duration(st.ResourceVersion-100) * tick)
}

// leaf sets a field by the last field manager.
func leaf(path string) trait {
	return func(st *state) {
		st.Leaves = slices.DeleteFunc(st.Leaves, func(l observation.Leaf) bool { return l.Path == path })
		var managers uint64
		if n := len(st.Managers); n > 0 {
			managers = 1 << (n - 1)
		}
		st.Leaves = append(st.Leaves, observation.Leaf{Path: path, Value: st.ResourceVersion, Managers: managers})
		st.Desired++
		if !strings.HasPrefix(path, "metadata.") && st.ResourceVersion > 101 {
			st.Generation++
		}
	}
}

// shown sets the value of a field.
func shown(path, value string) trait {
	return func(st *state) {
		leaf(path)(st)
		st.Leaves[len(st.Leaves)-1].Shown = value
	}
}

// without removes a field.
func without(path string) trait {
	return func(st *state) {
		st.Leaves = slices.DeleteFunc(st.Leaves, func(l observation.Leaf) bool { return l.Path == path })
	}
}

// refers gives the object a relation.
func refers(typ object.RelationType, to object.Name) trait {
	return func(st *state) { st.Relations = append(st.Relations, object.Relation{Type: typ, To: to}) }
}

// nameOf returns the name of an object in the default namespace.
func nameOf(group, kind, name string) object.Name {
	return object.Name{Group: group, Kind: kind, Namespace: "default", Name: name}
}

// condition sets a condition of the status.
func condition(typ, status, reason, message string) trait {
	return func(st *state) {
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c observation.Condition) bool { return c.Type == typ })
		st.Conditions = append(st.Conditions, observation.Condition{
			Type: typ, Status: status, Reason: reason, Message: message, Since: written(st).Truncate(time.Second),
		})
	}
}

// deleting begins the deletion of the object, by an unknown author.
func deleting(st *state) {
	st.GraceSeconds = 30
	st.Deleting = written(st).Truncate(time.Second).Add(30 * time.Second)
}

// wants is the wanted number of replicas.
func wants(n int32) trait {
	return func(st *state) {
		if st.Workload == nil {
			st.Workload = &observation.Workload{}
		}
		st.Workload.Replicas = n
		leaf(fieldReplicas)(st)
	}
}

// fresh is the generation of a new object, which the fields have raised.
func fresh(st *state) { st.Generation = 1 }

// converged is a status with the desired state.
func converged(st *state) {
	if st.ObservedGeneration = st.Generation; st.Pod != nil {
		st.ObservedGeneration = -1
		st.Pod.Phase = "Running"
		condition("Ready", "True", "", "")(st)
		return
	}
	st.Progress = observation.ProgressCurrent
	if w := st.Workload; w != nil {
		w.Total, w.Updated, w.Ready, w.Available = w.Replicas, w.Replicas, w.Replicas, w.Replicas
	}
}

// failed is a permanent failure.
func failed(st *state) {
	st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressFailed
	if st.Pod != nil {
		st.ObservedGeneration, st.Pod.Phase = -1, "Failed"
	}
}

// carrying puts a context on the object.
func carrying(id string, n int) trait {
	return func(st *state) { st.TraceParent = traceParent(id, n) }
}

// deployment is a Deployment by a person.
func deployment(n int32) trait {
	return func(st *state) {
		all(of("apps", "Deployment"), by("kubectl-create"), leaf(fieldImage), wants(n), fresh)(st)
	}
}

// replicaSet is a ReplicaSet of that Deployment.
func replicaSet(owner string, n int32) trait {
	return all(of("apps", "ReplicaSet"), owned("apps", "Deployment", owner), by(change.Manager), wants(n), fresh)
}

// podOf is a Pod of an owner.
func podOf(group, kind, owner string) trait {
	return all(pod, owned(group, kind, owner), by(change.Manager))
}

// pod is a Pod without an owner.
func pod(st *state) {
	of("", "Pod")(st)
	st.Pod = &observation.Pod{Containers: []observation.Container{{Name: "app", Image: "registry/app:1"}}}
}

// on binds the Pod to a Node.
func on(node string) trait { return func(st *state) { st.Pod.Node = node } }

// custom is an object of an operator's kind, by a person. Nothing shows when its controller has handled a change.
func custom(kind string) trait {
	return all(of("example.com", kind), by("kubectl-create"), leaf("spec.size"), fresh)
}

// all makes several edits one.
func all(edits ...trait) trait {
	return func(st *state) {
		for _, e := range edits {
			e(st)
		}
	}
}

// pending is an object of a kind with observedGeneration, before the first status of its controller.
func pending(st *state) { st.ObservedGeneration = 0 }

// aNode is a Node.
var aNode = all(of("", "Node"), clusterScoped, by("kubelet"), leaf("metadata.labels[zone]"), fresh)

// pendingClaim is a claim without a volume, by a person.
var pendingClaim = all(of("", "PersistentVolumeClaim"), by("kubectl-create"), pending)

// daemonSet is a DaemonSet by a person.
func daemonSet(n int32) trait {
	return all(of("apps", "DaemonSet"), by("kubectl-create"), leaf(fieldImage), wants(n), fresh)
}

// childOfHead is an object that the controller of a Head makes.
func childOfHead(kind string) trait {
	return all(of("example.com", kind), owned("example.com", "Head", "head"), by("head-controller"),
		leaf("spec.size"), fresh)
}

// ofHead is an ownerReference to a Head that is not the controller.
var ofHead = plainlyOwned("example.com", "Head", "head")

// ordered makes a StatefulSet wait for each of its Pods.
var ordered = shown("spec.podManagementPolicy", "OrderedReady")

// managerAgent is the user agent of the controllers in kube-controller-manager.
const managerAgent = "kube-controller-manager/v1.36"
