// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Attributes that identify the object of a component's span.
const (
	keyAuditID       = attribute.Key("audit-id")
	keyPodUID        = attribute.Key("k8s.pod.uid")
	keyUpdateType    = attribute.Key("k8s.pod.update_type")
	keySandboxName   = attribute.Key("sandbox.name")
	keySandboxID     = attribute.Key("sandbox.id")
	keyContainerName = attribute.Key("container.name")
	keyContainerID   = attribute.Key("container.id")
	keyImageRef      = attribute.Key("image.ref")
)

// identity can join a span other than by its parent.
type identity struct {
	kind identityKind
	id   string
}

type identityKind uint8

const (
	noIdentity identityKind = iota
	// byAudit: the API server's ID of a request.
	byAudit
	// byPod: a Pod's UID.
	byPod
	// byContainer: the ID of a sandbox or a container. It maps to a Pod after a span with both IDs.
	byContainer
	// byName: a Pod's namespace and name. Names are reused: links may use them, joins may not.
	byName
)

// identify returns the identity of s, and the UID of its Pod.
func identify(s *span.Span) (id identity, pod string) {
	var sandbox, container, sandboxName, containerName, audit, uid string
	for i := range s.Attributes {
		var to *string
		switch s.Attributes[i].Key {
		case keyAuditID:
			to = &audit
		case keyPodUID:
			to = &uid
		case keySandboxID:
			to = &sandbox
		case keyContainerID:
			to = &container
		case keySandboxName:
			to = &sandboxName
		case keyContainerName:
			to = &containerName
		default:
			continue
		}
		if v := s.Attributes[i].Value; v.Type() == attribute.STRING {
			*to = v.AsString()
		}
	}
	switch {
	case audit != "" && kind(s) == trace.SpanKindServer:
		return identity{byAudit, audit}, ""
	case uid != "" && (syncs(s.Name) || s.IsAttempt() || callsPlugin(s)):
		return identity{byPod, uid}, uid
	}
	if uid, _, ok := podOf(sandboxName); ok {
		pod = uid
	} else if uid, _, ok := podOf(containerName); ok {
		pod = uid
	}
	switch {
	case sandbox != "":
		return identity{byContainer, sandbox}, pod
	case container != "":
		return identity{byContainer, container}, pod
	case pod != "":
		return identity{byPod, pod}, pod
	}
	return identity{}, ""
}

// syncs reports whether name is a kubelet's span for one Pod.
func syncs(name string) bool {
	return name == "syncPod" || name == "syncTerminatingPod" || name == "syncTerminatedPod"
}

// podOf parses the UID and the attempt from a name made by the kubelet. The name of a sandbox is
// <pod>_<namespace>_<uid>_<attempt>; that of a container has the container's name in front. No part
// may contain an underscore.
func podOf(name string) (uid, attempt string, ok bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 4 && len(parts) != 5 {
		return "", "", false
	}
	uid, attempt = parts[len(parts)-2], parts[len(parts)-1]
	return uid, attempt, len(uid) >= 32 && attempt != ""
}

// entry holds everything with one identity.
type entry struct {
	nodes list
	// writes are our writes with the audit-id.
	writes []written
	// stays are a Pod's reconciliations, by start.
	stays []stay
	// pod is the Pod of a sandbox or a container. disputed means that two Pods claim it.
	pod      string
	disputed bool
	// containers are a Pod's containers.
	containers []identity
}

// written is a write of ours.
type written struct {
	change *change
	at     trace.SpanID
}

// identities indexes the identities of held spans and of our traces.
type identities struct {
	entries map[identity]*entry
	// learned are the containers with a known Pod. It is a ring; next is the oldest.
	learned []identity
	next    int
}

// maxLearned limits the containers with a known Pod.
const maxLearned = 1 << 16

func newIdentities() identities { return identities{entries: map[identity]*entry{}} }

// entry returns the entry of id. It creates a missing one.
func (i *identities) entry(id identity) *entry {
	e := i.entries[id]
	if e == nil {
		e = &entry{nodes: list{hook: hookOfIdentity}}
		i.entries[id] = e
	}
	return e
}

// pod returns the entry of a Pod; nil means none.
func (i *identities) pod(uid string) *entry { return i.entries[identity{byPod, uid}] }

// release removes an empty entry.
func (i *identities) release(id identity) {
	if e := i.entries[id]; e != nil && e.nodes.len == 0 && len(e.writes) == 0 && len(e.stays) == 0 && e.pod == "" &&
		len(e.containers) == 0 {
		delete(i.entries, id)
	}
}

// learn records the Pod of a sandbox or a container, and reports whether this was new. A container
// claimed by two Pods has none.
func (i *identities) learn(id, pod string) bool {
	which := identity{byContainer, id}
	e := i.entry(which)
	switch {
	case e.pod == pod || e.disputed:
		return false
	case e.pod != "":
		e.disputed = true
		return true
	}
	e.pod = pod
	of := i.entry(identity{byPod, pod})
	of.containers = append(of.containers, which)
	if len(i.learned) < maxLearned {
		i.learned = append(i.learned, which)
		return true
	}
	oldest := i.learned[i.next]
	i.learned[i.next] = which
	i.next = (i.next + 1) % maxLearned
	if o := i.entries[oldest]; o != nil {
		of := i.entry(identity{byPod, o.pod})
		of.containers = slices.DeleteFunc(of.containers, func(c identity) bool { return c == oldest })
		i.release(identity{byPod, o.pod})
		o.pod, o.disputed = "", false
		i.release(oldest)
	}
	return true
}

// podOf returns the UID of n's Pod, or an empty string if it is unknown.
func (i *identities) podOf(n *node) string {
	if n.pod != "" {
		return n.pod
	}
	for _, id := range ids(n.span) {
		if e := i.entries[identity{byContainer, id}]; id != "" && e != nil && !e.disputed && e.pod != "" {
			return e.pod
		}
	}
	return ""
}

// ids returns the IDs of the sandbox and the container of s.
func ids(s *span.Span) [2]string {
	return [2]string{text(s.Attributes, keySandboxID), text(s.Attributes, keyContainerID)}
}
