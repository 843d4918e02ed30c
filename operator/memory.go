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

// remembered limits the objects in memory. The least recently used are dropped first. Traces then
// become less exact, with no other effect.
const remembered = 16384

// objectKey identifies an object by kind and name.
type objectKey struct {
	kind schema.GroupKind
	client.ObjectKey
}

// written is the result of this process's last write of an object, or of a later read.
type written struct {
	uid      types.UID
	version  string            // resourceVersion of the answer
	answered lifeline.Digest   // of the desired state in the answer
	sent     lifeline.Digest   // of the desired state in the request
	carried  map[string]string // context annotations in the answer
	setters  setters           // field managers of carried
	blank    bool              // the carried context is unknown
	at       time.Time         // time of the write; zero for a read
}

// maxCarried limits a stored context, in bytes. It exceeds the size of any readable context.
const maxCarried = 10 << 10

// take stores the API server's response: the desired state, and the context annotations.
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

// memory stores the last write of each object.
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

// note stores an object read from the API server, unless the stored version is at least as new.
// Without an informer, it is the only knowledge of the state before a write.
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

// episode is a period of work on an object without a matching context on the object. Examples are
// the healing of a converged object, a deletion, and a change without a supplied context. Its
// reconciles are one trace while the object's state stays the same. Episodes are held in memory
// only (L4).
type episode struct {
	root       trace.SpanContext // invalid: converged, and no work since
	generation int64
	context    trace.SpanID // of the object's context, which does not match
	deleting   bool
}

// like reports whether two episodes are about the same state of an object.
func (e episode) like(o episode) bool {
	return e.generation == o.generation && e.context == o.context && e.deleting == o.deleting
}

// episodes stores the open episode of each object.
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
