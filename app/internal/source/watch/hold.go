// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

type uidKey = types.UID

// held is what is kept of an object.
type held struct {
	version uint64
	kind    object.Kind
	namespace,
	name string
	// round is the list that showed it last.
	round uint32
}

func (h held) ref(uid uidKey) object.Ref {
	return object.Ref{Kind: h.kind, Namespace: h.namespace, Name: h.name, UID: uid}
}

// kept returns what is kept of the object that o is of.
func kept(o *observation.Observation, round uint32) (uidKey, held) {
	h := held{round: round}
	if e := o.Event; e != nil {
		h.version, h.namespace = e.ResourceVersion, e.Regarding.Namespace
		return uidKey(e.UID), h
	}
	h.version = o.State.ResourceVersion
	h.kind, h.namespace, h.name = o.State.Kind, o.State.Namespace, o.State.Name
	return o.State.UID, h
}

// hold keeps what is needed of an object and reports whether it is new.
func (s *stream) hold(o *observation.Observation) bool {
	uid, h := kept(o, s.round)
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.objects[uid]
	s.objects[uid] = h
	return !known || before.version != h.version
}

// adopt keeps what another stream saw of an object, unless something newer is
// kept, and reports whether that version is to be handed on.
func (s *stream) adopt(o *observation.Observation) bool {
	if o.Gone != nil {
		s.release(o.Gone.UID)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	uid, h := kept(o, s.round)
	before, known := s.objects[uid]
	if !known || before.version < h.version {
		s.objects[uid] = h
	}
	return !known || before.version != h.version
}

// beginRound begins a list.
func (s *stream) beginRound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
}

func (s *stream) release(uid uidKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, uid)
}

// releaseMissing forgets and returns what the last list did not show.
func (s *stream) releaseMissing() map[uidKey]held {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// endList hands on what the list shows to be gone.
func (s *stream) endList(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	for uid, h := range s.releaseMissing() {
		if s.isEvents() {
			continue
		}
		s.hand(&observation.Observation{
			Seen:   s.w.now(),
			Source: observation.SourceWatch,
			Listed: true,
			Gone:   &observation.Gone{Ref: h.ref(uid), ResourceVersion: number},
		})
	}
	s.version = version
	s.listed = true
	s.ready.Do(s.w.oneSynced)
	s.reached()
}
