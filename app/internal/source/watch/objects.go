// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

type uidKey = types.UID

// held is the record that a stream keeps of an object.
type held struct {
	version uint64
	kind    object.Kind
	namespace,
	name string
	// round is the last list that contained the object.
	round uint32
}

func (h held) ref(uid uidKey) object.Ref {
	return object.Ref{Kind: h.kind, Namespace: h.namespace, Name: h.name, UID: uid}
}

// kept returns the UID and the record of an object.
func kept(o *observation.State, round uint32) (uidKey, held) {
	return o.UID, held{
		version: o.ResourceVersion, kind: o.Kind, namespace: o.Namespace, name: o.Name, round: round,
	}
}

// hold stores the object's record and reports whether this version is new. An Event needs no record,
// since its removal is not observed: its version is new if the stream has not reached it. So a list of
// Events that breaks on a later page emits its first pages twice; the engine ignores the repetition.
func (s *stream) hold(o *observation.Observation) bool {
	if o.Event != nil {
		return o.Event.ResourceVersion > s.emitted
	}
	uid, h := kept(o.State, s.round)
	before, known := s.objects[uid]
	s.objects[uid] = h
	return !known || before.version != h.version
}

// releaseMissing removes and returns the objects that the last list did not contain.
func (s *stream) releaseMissing() map[uidKey]held {
	var missing map[uidKey]held
	for uid, h := range s.objects {
		if h.round == s.round {
			continue
		}
		delete(s.objects, uid)
		if missing == nil {
			missing = map[uidKey]held{}
		}
		missing[uid] = h
	}
	return missing
}

// endList emits the removals that the list shows.
func (s *stream) endList(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	for uid, h := range s.releaseMissing() {
		gone := &observation.Gone{Ref: h.ref(uid), ResourceVersion: number}
		if s.separate {
			gone.Order = s.w.storages.place()
		}
		s.hand(&observation.Observation{
			Seen: s.w.now(), Source: observation.SourceWatch, Listed: true, Gone: gone,
		})
	}
	s.version = version
	s.listed = true
	s.ready.Do(s.w.oneSynced)
	s.reached()
}
