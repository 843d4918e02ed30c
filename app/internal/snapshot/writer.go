// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// partValues is the number of values after which a Part is written.
const partValues = 256

// maxKnown bounds the known values of the large tables. Maps of all values of a large cluster need
// as much time and memory as the rest of the state together.
const maxKnown = 1 << 13

// Writer writes a saved state. Its methods return the saved form of a value: a message, or a number
// in a table. They add new values of the tables to Part. The caller adds the messages to Part, and
// calls Next after each one.
type Writer struct {
	// Part is the Part in the making.
	Part *statepb.Part

	blocks blockWriter
	err    error
	epoch  int64
	values int // in Part

	texts          table[string]
	kinds          table[object.Kind]
	leaves         table[*history.Leave]
	origins        table[*history.Origin]
	owners         table[stretch[object.Owner]]
	finalizers     table[stretch[string]]
	relations      table[stretch[object.Relation]]
	fields         table[*history.Fields]
	intents        table[*history.Intent] // of one timeline
	managers       table[*observation.Manager]
	managerLists   table[stretch[*observation.Manager]]
	verdicts       table[*history.Verdict]
	conditions     table[*observation.Condition]
	conditionLists table[stretch[*observation.Condition]]
	workloads      table[*observation.Workload]
	states         table[*observation.ContainerState]
	containers     table[*observation.Container]
	containerLists table[stretch[*observation.Container]]
	podSpecs       table[*history.PodSpec]
	podPhases      table[*history.PodPhase]
	pods           table[*history.PodState]
	statuses       table[*history.Status]
	notices        table[*history.Notice]
	audits         table[*observation.Write]

	// The most frequent messages of a Part are used again for the next Part.
	slabs struct {
		timelines slab[statepb.Timeline]
		refs      slab[statepb.Ref]
		versions  slab[statepb.Version]
		intents   slab[statepb.Intent]
		statuses  slab[statepb.Status]
		pods      slab[statepb.Pod]
		pasts     slab[statepb.Past]
		times     slab[statepb.Time]
	}
}

// NewWriter returns a Writer to out. epoch is the base of the saved times. It may be any time, and
// should be close to most of them.
func NewWriter(out io.Writer, epoch time.Time) *Writer {
	w := &Writer{Part: &statepb.Part{}, blocks: blockWriter{out: out}}
	if !epoch.IsZero() {
		w.epoch = epoch.Unix()
	}
	_, w.err = out.Write(append([]byte(magic), Version))
	return w
}

// Header adds the header, which must come first.
func (w *Writer) Header(h *statepb.Header) {
	h.Epoch = w.epoch
	w.Part.Header = h
}

// Next writes Part if it is large enough, and begins another one.
func (w *Writer) Next() {
	if w.values++; w.values >= partValues {
		w.write()
	}
}

// Close writes the rest of the state. It returns the first error.
func (w *Writer) Close() error {
	w.write()
	if w.err == nil {
		w.err = w.blocks.close()
	}
	return w.err
}

// write writes Part and begins another one. After an error it only begins another one.
func (w *Writer) write() {
	if w.err == nil {
		w.err = w.encode()
	}
	w.values = 0
	proto.Reset(w.Part)
	w.bound()
	w.slabs.timelines.used = 0
	w.slabs.refs.used = 0
	w.slabs.versions.used = 0
	w.slabs.intents.used = 0
	w.slabs.statuses.used = 0
	w.slabs.pods.used = 0
	w.slabs.pasts.used = 0
	w.slabs.times.used = 0
}

// bound bounds the tables that have values of each Pod. It is called between two Parts, so that the
// versions of one object share their values.
func (w *Writer) bound() {
	w.texts.bound()
	w.leaves.bound()
	w.origins.bound()
	w.owners.bound()
	w.fields.bound()
	w.managers.bound()
	w.managerLists.bound()
	w.verdicts.bound()
	w.conditions.bound()
	w.conditionLists.bound()
	w.states.bound()
	w.containers.bound()
	w.containerLists.bound()
	w.podSpecs.bound()
	w.podPhases.bound()
	w.pods.bound()
	w.statuses.bound()
}

// encode writes Part after its length.
func (w *Writer) encode() error {
	var err error
	w.blocks.buf = binary.AppendUvarint(w.blocks.buf, uint64(proto.Size(w.Part))) //nolint:gosec // a length
	w.blocks.buf, err = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(w.blocks.buf, w.Part)
	if err != nil {
		return fmt.Errorf("cannot encode the state: %w", err)
	}
	w.blocks.flush()
	return w.blocks.err
}

// slab supplies messages. Its messages from used on are free.
type slab[M any] struct {
	all  []*M
	used int
}

// next returns a free message. It may have old content.
func (s *slab[M]) next() *M {
	if s.used == len(s.all) {
		s.all = append(s.all, new(M))
	}
	s.used++
	return s.all[s.used-1]
}

// table numbers the values of one kind in order of their first use.
type table[K comparable] struct {
	numbers map[K]uint64
	last    uint64
}

// number returns the number of the value with that key, and true for a new value.
func (t *table[K]) number(key K) (n uint64, added bool) {
	if n, known := t.numbers[key]; known {
		return n, false
	}
	if t.numbers == nil {
		t.numbers = map[K]uint64{}
	}
	t.last++
	t.numbers[key] = t.last
	return t.last, true
}

// reset begins a new table.
func (t *table[K]) reset() {
	if len(t.numbers) > 64 {
		t.numbers = nil // slow to clear
	}
	clear(t.numbers)
	t.last = 0
}

// bound forgets the values if there are many. A forgotten value that comes again is saved again.
func (t *table[K]) bound() {
	if len(t.numbers) > maxKnown {
		clear(t.numbers)
	}
}

// share returns the number of the value at p, or 0 if p is nil. It adds a new value to list.
func share[T, M any](w *Writer, t *table[*T], p *T, list *[]*M, message func(*Writer, *T) *M) uint64 {
	if p == nil {
		return 0
	}
	n, added := t.number(p)
	if added {
		w.values++
		*list = append(*list, message(w, p))
	}
	return n
}

// stretch identifies a slice by its first element and its length.
type stretch[T any] struct {
	first *T
	n     int
}

// shareList returns the number of the slice s, or 0 if s is empty. It adds a new slice to lists, by
// the numbers of its values.
func shareList[T any](
	w *Writer,
	t *table[stretch[T]],
	s []T,
	lists *[]*statepb.List,
	number func(*Writer, T) uint64,
) uint64 {
	if len(s) == 0 {
		return 0
	}
	n, added := t.number(stretch[T]{&s[0], len(s)})
	if added {
		w.values += len(s)
		*lists = append(*lists, &statepb.List{Values: numbers(w, s, number)})
	}
	return n
}

// messages returns the saved forms of the values of s, which are not shared.
func messages[T, M any](w *Writer, s []T, message func(*Writer, T) *M) []*M {
	if len(s) == 0 {
		return nil
	}
	w.values += len(s)
	out := make([]*M, len(s))
	for i, v := range s {
		out[i] = message(w, v)
	}
	return out
}

// numbers returns the numbers of the values of s.
func numbers[T any](w *Writer, s []T, number func(*Writer, T) uint64) []uint64 {
	if len(s) == 0 {
		return nil
	}
	out := make([]uint64, len(s))
	for i, v := range s {
		out[i] = number(w, v)
	}
	return out
}

// Text returns the number of a text.
func (w *Writer) Text(s string) uint64 {
	if s == "" {
		return 0
	}
	n, added := w.texts.number(s)
	if added {
		w.values++
		w.Part.Texts = append(w.Part.Texts, []byte(s))
	}
	return n
}

// TraceID returns the number of a trace ID.
func (w *Writer) TraceID(id trace.TraceID) uint64 {
	if !id.IsValid() {
		return 0
	}
	if n, known := w.texts.numbers[string(id[:])]; known { // without an allocation
		return n
	}
	return w.Text(string(id[:]))
}

// SpanID returns a span ID as a number.
func (w *Writer) SpanID(id trace.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// Time returns the saved form of a time. A time in UTC stays in UTC, any other becomes local.
func (w *Writer) Time(t time.Time) *statepb.Time {
	if t.IsZero() {
		return nil
	}
	w.values++
	m := w.slabs.times.next()
	*m = statepb.Time{
		Seconds: t.Unix() - w.epoch,
		Nanos:   uint32(t.Nanosecond()), //nolint:gosec // less than a billion
		Local:   t.Location() != time.UTC,
	}
	return m
}
