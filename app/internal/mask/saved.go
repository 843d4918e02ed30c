// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// format is the first number of saved words.
const format = 1

// Save returns the words and objects, for Restore. They are digests under the Memory's key.
func (m *Memory) Save() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]byte, 0, m.size+80*len(m.objects))
	number := func(n uint64) { out = binary.AppendUvarint(out, n) }
	fixed := func(n uint64) { out = binary.LittleEndian.AppendUint64(out, n) }
	number(format)
	number(uint64(len(m.shared)))
	for id, u := range m.shared {
		fixed(id)
		number(uint64(len(u.words.all)))
		for _, w := range u.words.all {
			fixed(w.sum)
			out = binary.LittleEndian.AppendUint32(out, w.head)
			letters := uint64(0)
			if w.letters {
				letters = 1
			}
			number(uint64(w.size)<<1 | letters)
		}
	}
	number(uint64(len(m.objects)))
	for id, e := range m.objects {
		for _, n := range []uint64{
			uint64(id), saved(e.now), saved(e.before), uint64(e.owners[0]), uint64(e.owners[1]), uint64(e.name),
		} {
			fixed(n)
		}
		number(e.version)
		number(uint64(e.written)) //nolint:gosec // restored alike
	}
	return out
}

// The saved ids of words that have none.
const (
	savedNil = iota
	savedNone
	savedUnknown
)

func saved(w *Words) uint64 {
	switch {
	case w == nil:
		return savedNil
	case w == none:
		return savedNone
	case w.more:
		return savedUnknown
	}
	return w.id
}

var errSaved = errors.New("the saved values are damaged")

// Restore adds what Save has returned, for the present objects with their newest versions. Objects with another
// version stay unknown. After an error, so do all.
func (m *Memory) Restore(data []byte, present iter.Seq2[object.Ref, uint64]) error {
	r := reader{data: data}
	if r.number() != format {
		return errSaved
	}
	known := map[uint64]*Words{savedNil: nil, savedNone: none, savedUnknown: unknown}
	for range r.count(1) {
		id := r.fixed()
		w := &Words{id: id}
		for range r.count(13) {
			each := word{sum: r.fixed(), head: r.fixed32()}
			n := r.number()
			each.size, each.letters = uint16(n>>1), n&1 == 1 //nolint:gosec // at most maxWord
			w.all = append(w.all, each)
		}
		known[id] = w
	}
	objects := map[id]entry{}
	for range r.count(50) {
		of, now, before := id(r.fixed()), known[r.fixed()], known[r.fixed()]
		e := entry{now: now, before: before, owners: [2]id{id(r.fixed()), id(r.fixed())}, name: id(r.fixed())}
		e.version = r.number()
		e.written = int64(r.number()) //nolint:gosec // saved alike
		if now == nil {
			return errSaved
		}
		objects[of] = e
	}
	if r.failed || len(r.data) > 0 {
		return errSaved
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, version := range present {
		of := m.uid(ref.UID)
		e, found := objects[of]
		if _, newer := m.objects[of]; !found || newer || e.version != version {
			continue
		}
		e.now = m.share(e.now)
		if e.before != nil {
			e.before = m.share(e.before)
		}
		for _, owner := range e.owners {
			m.join(owner, e.now)
		}
		m.objects[of], m.names[e.name] = e, of
	}
	return nil
}

// reader reads numbers. After the end of the data it returns zeros, and failed is true.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) fixed() uint64 {
	if len(r.data) < 8 {
		r.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(r.data)
	r.data = r.data[8:]
	return n
}

func (r *reader) fixed32() uint32 {
	if len(r.data) < 4 {
		r.fail()
		return 0
	}
	n := binary.LittleEndian.Uint32(r.data)
	r.data = r.data[4:]
	return n
}

// count returns the number of the following items, of that many bytes at least.
func (r *reader) count(size int) uint64 {
	n := r.number()
	if n > uint64(len(r.data)/size) { //nolint:gosec // positive
		r.fail()
		return 0
	}
	return n
}

func (r *reader) fail() { r.data, r.failed = nil, true }
