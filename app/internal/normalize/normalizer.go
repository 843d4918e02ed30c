// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"crypto/rand"
	"encoding/binary"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/recent"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// KeySize is the size of a Normalizer's key in bytes.
const KeySize = 16

// Normalizer normalizes objects. All digests in its results depend on its key: without the key, a
// digest reveals nothing of a short value such as a password. The same object always gives the same
// result, with three exceptions: the verdict on an object that shows nothing (package health); an Ingress waits for
// an address once another one of its class has one; text of a message is shown once the values of its object are
// known. A Normalizer may be used concurrently.
type Normalizer struct {
	k0, k1 uint64
	// recent are the fields of managers by their fieldsV1, and tables the field tables of objects.
	recent *recent.Cache[string, managed]
	tables *recent.Cache[tableKey, table]
	judge  *health.Judge
	// classes are the classes of Ingresses with an address.
	classes *recent.Cache[string, bool]
	Settings
}

// Settings are the settings of a Normalizer, from the configuration. The zero value is usable.
type Settings struct {
	// Relations are the declared relations; nil for none.
	Relations *relation.Set
	// Shown are the fields whose values may be shown, apart from those of package kind: paths without
	// the keys of list items, such as "spec.containers.image".
	Shown map[schema.GroupKind][]string
	// Labels are the keys of the labels that are kept.
	Labels []string
	// Messages are the modes of the messages of objects and Events. Memory has the values that masked
	// messages must not show; nil means a new one.
	Messages mask.Modes
	Memory   *mask.Memory
	// Health are the health rules of the configuration; nil for none.
	Health *health.Rules
	// Signals are the kinds that show their state; nil means none yet. The Normalizer adds to them.
	Signals *health.Signals
}

// New returns a Normalizer with that key.
func New(key [KeySize]byte, s Settings) *Normalizer {
	if s.Signals == nil {
		s.Signals = new(health.Signals)
	}
	if s.Memory == nil {
		s.Memory = mask.NewMemory()
	}
	k0, k1 := halves(key)
	return &Normalizer{
		k0: k0, k1: k1, Settings: s,
		recent:  &recent.Cache[string, managed]{Size: maxManaged},
		tables:  &recent.Cache[tableKey, table]{Size: maxTables},
		classes: &recent.Cache[string, bool]{Size: maxClasses},
		judge:   health.NewJudge(s.Health, s.Signals),
	}
}

func halves(key [KeySize]byte) (k0, k1 uint64) {
	return binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])
}

// Forget is called for a removed object. Its values stay known for its last messages.
func (n *Normalizer) Forget(uid types.UID) { n.Memory.Forget(uid) }

// NewKey returns a random key.
func NewKey() (key [KeySize]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}
