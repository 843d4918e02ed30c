// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Attributes by which components name what a span is about.
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

// identity is what a span can be joined by beside its parent.
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
	// byContainer: a sandbox's or a container's ID, which is a Pod's once a span
	// has told of both.
	byContainer
	// byName: a Pod's namespace and name. Names are reused: a link may go by one,
	// a join may not.
	byName
)

// identify returns what s can be joined by, and the UID of the Pod that it names.
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
	case uid != "" && syncs(s.Name):
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

// syncs reports whether a kubelet's span of that name is about one Pod.
func syncs(name string) bool {
	return name == "syncPod" || name == "syncTerminatingPod" || name == "syncTerminatedPod"
}

// podOf reads the UID and the attempt from a name that the kubelet gives: of a
// sandbox, <pod>_<namespace>_<uid>_<attempt>, or of a container, with its own
// name before that. No part may contain an underscore.
func podOf(name string) (uid, attempt string, ok bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 4 && len(parts) != 5 {
		return "", "", false
	}
	uid, attempt = parts[len(parts)-2], parts[len(parts)-1]
	return uid, attempt, len(uid) >= 32 && attempt != ""
}

// entry is all that goes by one identity.
type entry struct {
	nodes list
	// writes are ours that an audit-id names.
	writes []written
	// stays are a Pod's reconciliations, by start.
	stays []stay
	// pod is whose a sandbox or a container is; disputed: it was said of two.
	pod      string
	disputed bool
	// containers are those of a Pod.
	containers []identity
}

// written is a write of ours.
type written struct {
	change *change
	at     trace.SpanID
}

// identities are all that are named by spans that are held, or by our traces.
type identities struct {
	entries map[identity]*entry
	// learned are the containers whose Pod is known, oldest first from next on.
	learned []identity
	next    int
}

// maxLearned is how many containers' Pods are remembered.
const maxLearned = 1 << 16

func newIdentities() identities { return identities{entries: map[identity]*entry{}} }

// entry returns that of id, and makes one if there is none.
func (i *identities) entry(id identity) *entry {
	e := i.entries[id]
	if e == nil {
		e = &entry{nodes: list{hook: hookOfIdentity}}
		i.entries[id] = e
	}
	return e
}

// release forgets an entry that holds nothing.
func (i *identities) release(id identity) {
	if e := i.entries[id]; e != nil && e.nodes.len == 0 && len(e.writes) == 0 && len(e.stays) == 0 && e.pod == "" &&
		len(e.containers) == 0 {
		delete(i.entries, id)
	}
}

// learn remembers that a sandbox or a container is a Pod's, and reports whether
// that was news. What is said to be two Pods' is nobody's.
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

// podOf returns the UID of the Pod that n tells of, as far as it is known.
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

// ids are the sandbox and the container that s names.
func ids(s *span.Span) [2]string {
	return [2]string{text(s.Attributes, keySandboxID), text(s.Attributes, keyContainerID)}
}
