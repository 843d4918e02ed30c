// SPDX-License-Identifier: Apache-2.0

package scheduler

import "k8s.io/apimachinery/pkg/types"

// memory holds values of Pods until they are taken. Pods can be deleted before that, so above a limit
// it forgets the oldest half.
type memory[V any] struct {
	limit         int
	recent, older map[types.UID]V
}

func (m *memory[V]) get(pod types.UID) (V, bool) {
	if v, ok := m.recent[pod]; ok {
		return v, true
	}
	v, ok := m.older[pod]
	return v, ok
}

func (m *memory[V]) put(pod types.UID, value V) {
	if m.recent == nil || len(m.recent) >= m.limit/2 {
		m.recent, m.older = map[types.UID]V{}, m.recent
	}
	delete(m.older, pod)
	m.recent[pod] = value
}

func (m *memory[V]) take(pod types.UID) V {
	v, _ := m.get(pod)
	delete(m.recent, pod)
	delete(m.older, pod)
	return v
}

func (m *memory[V]) len() int { return len(m.recent) + len(m.older) }
