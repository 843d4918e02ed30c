// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// remembered is how many objects the kit remembers something of; the least
// recently used are forgotten first, which costs exactness and nothing else.
const remembered = 16384

// objectKey names an object by kind and name.
type objectKey struct {
	kind schema.GroupKind
	client.ObjectKey
}

// written is what the last write of this process left, or what it has read
// since.
type written struct {
	uid      types.UID
	version  string            // resourceVersion of the answer
	answered lifeline.Digest   // of the desired state in the answer
	sent     lifeline.Digest   // of the desired state as it was sent
	carried  map[string]string // the context that the answer carried
	setters  setters           // of what it carried
	blank    bool              // what it carries is not known
	at       time.Time         // of the write; zero if this was read
}

// maxCarried bounds a context that is remembered, in bytes: more than any that
// would be read as one.
const maxCarried = 10 << 10

// take takes up what the API server has answered: its desired state, and what it
// carries under the convention's keys.
func (w *written) take(obj client.Object, desired supply.State, own map[string]string) {
	size := 0
	for k, v := range own {
		size += len(k) + len(v)
	}
	w.uid, w.version, w.answered = obj.GetUID(), obj.GetResourceVersion(), desired.Digest()
	w.carried, w.setters, w.blank = own, settersOf(obj, own), false
	if size > maxCarried {
		w.carried, w.setters, w.blank = nil, setters{}, true
	}
}

// memory holds the last write of each object.
type memory struct {
	last  *lru.Cache
	tries *tries
}

func newMemory() memory { return memory{lru.New(remembered), newTries()} }

func (m memory) of(key objectKey) (written, bool) {
	v, ok := m.last.Get(key)
	if !ok {
		return written{}, false
	}
	return v.(written), true
}

func (m memory) keep(key objectKey, w written) { m.last.Add(key, w) }

func (m memory) forget(key objectKey) { m.last.Remove(key) }

// note keeps what was read from the API server, unless what is known is as new:
// without an informer it is all that is known of what stood there before.
func (m memory) note(key objectKey, obj client.Object, desired supply.State, own map[string]string) {
	last, ok := m.of(key)
	version := obj.GetResourceVersion()
	if version == "" || ok && last.version != "" && (version == last.version || newer(last.version, version)) {
		return
	}
	w := written{}
	if last.uid == obj.GetUID() {
		w.sent = last.sent
	}
	w.take(obj, desired, own)
	m.keep(key, w)
}

// episode is a stretch of work on an object that no context on the object
// stands for: the healing of what had converged, a deletion, a change whose
// writer supplied none. Its reconciles are one trace, for as long as the object
// stays as it was: an episode is held in memory, not written (L4).
type episode struct {
	root       trace.SpanContext // invalid: the object had converged, and nothing was begun since
	generation int64
	context    trace.SpanID // of the context that does not stand for it
	deleting   bool
}

// like reports whether two are about the same state of an object.
func (e episode) like(o episode) bool {
	return e.generation == o.generation && e.context == o.context && e.deleting == o.deleting
}

// episodes holds the open episode of each object.
type episodes struct{ open *lru.Cache }

func newEpisodes() episodes { return episodes{lru.New(remembered)} }

func (e episodes) of(uid types.UID) (episode, bool) {
	if e.open.Len() == 0 {
		return episode{}, false
	}
	v, ok := e.open.Get(uid)
	if !ok {
		return episode{}, false
	}
	return v.(episode), true
}

func (e episodes) begin(uid types.UID, ep episode) { e.open.Add(uid, ep) }

func (e episodes) end(uid types.UID) {
	if e.open.Len() > 0 {
		e.open.Remove(uid)
	}
}
