// SPDX-License-Identifier: Apache-2.0

package object

import "k8s.io/apimachinery/pkg/types"

// Name is the name of an object, in any version of its API. Objects may have it one after another.
type Name struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// NameOf returns the name of the object r.
func NameOf(r *Ref) Name { return Name{r.Group, r.Kind.Kind, r.Namespace, r.Name} }

// Relation is a reference of an object to another one, apart from its owners.
type Relation struct {
	Type RelationType `json:"type"`
	To   Name         `json:"to"`
}

// RelationType is the role of the other object.
type RelationType string

// The types of relations.
const (
	// Target is the workload that an autoscaler scales.
	Target RelationType = "target"
	// Claim is a PersistentVolumeClaim: of a Pod, or bound to a PersistentVolume. A StatefulSet
	// has the claims of its Pods, by a pattern (see ClaimsOf).
	Claim RelationType = "claim"
	// Volume is the PersistentVolume bound to a claim.
	Volume RelationType = "volume"
	// Class is the StorageClass of a claim.
	Class RelationType = "class"
	// Config is a ConfigMap or Secret read by a Pod template.
	Config RelationType = "config"
	// Nominated is the Node for which the scheduler preempts others in favour of a Pod.
	Nominated RelationType = "nominated"
	// Evicted is the Node of a Pod that is evicted or preempted.
	Evicted RelationType = "evicted"
	// Attached is the Gateway of a route.
	Attached RelationType = "attached"
	// Quota is the ResourceQuota that refused dependants of an object.
	Quota RelationType = "quota"
	// Limits are the LimitRanges of the Namespace of an object, if one of them refused its dependants.
	Limits RelationType = "limits"
	// Placed is the only Node of a Pod by its affinity: a DaemonSet made the Pod for this Node.
	Placed RelationType = "placed"
	// Applied is the object of a tool of continuous delivery that applies an object.
	Applied RelationType = "applied"
	// Source is the source of the revisions that an object applies.
	Source RelationType = "source"
	// Issues is the Secret of a Certificate. Issued is the Certificate of a Secret.
	Issues RelationType = "issues"
	Issued RelationType = "issued"
	// Backend is the Service of an Ingress or a route.
	Backend RelationType = "backend"
	// Port is a port of the Service of an Ingress. Its name is SERVICE:PORT: no object has such a name.
	Port RelationType = "port"
	// Mutates are the objects that admission may change by a policy or a webhook, and the policy of a binding.
	Mutates RelationType = "mutates"
	// Reported is the related object of an Event about an object, by its UID (see UIDName).
	Reported RelationType = "reported"
	// Cause and Effect are the sides of a relation in the configuration. An object has the name of
	// its key (see DeclaredName). Equal keys relate a cause with its effects.
	Cause  RelationType = "cause"
	Effect RelationType = "effect"
)

// UIDName returns the name that stands for the UID of an object in a relation.
func UIDName(uid types.UID) Name { return Name{Kind: ofUID, Name: string(uid)} }

// UID returns the UID of a name from UIDName, and whether n is such a name.
func (n Name) UID() (uid types.UID, ok bool) {
	return types.UID(n.Name), n.Kind == ofUID && n.Group == ""
}

// ofUID is the kind of the names of UIDs. No API has such a kind in the core group.
const ofUID = "UID"

// declared is the kind of the names of keys. No API has such a kind in the core group.
const declared = "Relation"

// DeclaredName returns the name that stands for a key in a relation of the configuration.
func DeclaredName(relation, key string) Name {
	return Name{Kind: declared, Namespace: relation, Name: key}
}

// Declared returns the relation of a name from DeclaredName, and whether n is such a name.
func (n Name) Declared() (relation string, ok bool) {
	return n.Namespace, n.Kind == declared && n.Group == ""
}
