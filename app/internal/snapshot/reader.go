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

// Reader reads a saved state. Its methods return the value of a message, or of a number in a table.
// A nil message has the zero value. The Reader keeps the first error. After an error its values are
// useless, and may lack their parts.
type Reader struct {
	blocks *BlockReader
	buf    []byte
	err    error
	begun  bool
	epoch  int64

	texts          []string
	kinds          []object.Kind
	leaves         []*history.Leave
	origins        []*history.Origin
	owners         [][]object.Owner
	finalizers     [][]string
	relations      [][]object.Relation
	fields         []*history.Fields
	managers       []*observation.Manager
	managerLists   [][]*observation.Manager
	verdicts       []*history.Verdict
	conditions     []*observation.Condition
	conditionLists [][]*observation.Condition
	workloads      []*observation.Workload
	states         []*observation.ContainerState
	containers     []*observation.Container
	containerLists [][]*observation.Container
	podSpecs       []*history.PodSpec
	podPhases      []*history.PodPhase
	pods           []*history.PodState
	statuses       []*history.Status
	notices        []*history.Notice
	audits         []*observation.Write
}

// NewReader returns a Reader of a state of the format Version. The head was already read.
func NewReader(in io.Reader) *Reader { return &Reader{blocks: NewBlockReader(in)} }

// Next returns the next Part, or nil after the last one and after an error. The first Part has a
// header, and no other Part has one. The values of its tables are already in the Reader.
func (r *Reader) Next() *statepb.Part {
	if r.err != nil || r.blocks.End() {
		r.end()
		return nil
	}
	p := &statepb.Part{}
	r.decode(p)
	switch {
	case r.err != nil:
		return nil
	case !r.begun && p.Header == nil:
		r.Fail("the header is missing")
		return nil
	case r.begun && p.Header != nil:
		r.Fail("there is a second header")
		return nil
	case !r.begun:
		r.begun, r.epoch = true, p.Header.Epoch
	}
	r.tables(p)
	if r.err != nil {
		return nil
	}
	return p
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail records an error of the format, if it is the first error.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
}

// end checks the end of the state.
func (r *Reader) end() {
	if r.err == nil {
		r.err = r.blocks.Close()
	}
	if !r.begun {
		r.Fail("the header is missing")
	}
}

// decode reads a length and a message of that length. A damaged length may be too large. So the
// buffer grows only with the bytes that are there.
func (r *Reader) decode(p *statepb.Part) {
	n, err := binary.ReadUvarint(r.blocks)
	r.buf = r.buf[:0]
	for err == nil && uint64(len(r.buf)) < n {
		more := min(n-uint64(len(r.buf)), blockSize)
		r.buf = append(r.buf, r.blocks.Next(int(more))...)
		err = r.blocks.err
	}
	switch {
	case r.blocks.err != nil:
		r.err = r.blocks.err
	case err != nil:
		r.Fail("a length is too long")
	case proto.Unmarshal(r.buf, p) != nil:
		r.Fail("a part is damaged")
	}
}

// tables adds the tables of p, each after those that it refers to.
func (r *Reader) tables(p *statepb.Part) {
	for _, b := range p.Texts {
		r.texts = append(r.texts, string(b))
	}
	for _, k := range p.Kinds {
		r.kinds = append(r.kinds, readKind(r, k))
	}
	add(r, &r.leaves, p.Leaves, readLeave)
	add(r, &r.origins, p.Origins, readOrigin)
	add(r, &r.owners, p.Owners, readOwnerList)
	add(r, &r.finalizers, p.Finalizers, readTextList)
	add(r, &r.relations, p.Relations, readRelationList)
	add(r, &r.fields, p.Fields, readFieldTable)
	add(r, &r.managers, p.Managers, readManager)
	add(r, &r.managerLists, p.ManagerLists, listOf(&r.managers))
	add(r, &r.verdicts, p.Verdicts, readVerdict)
	add(r, &r.conditions, p.Conditions, readCondition)
	add(r, &r.conditionLists, p.ConditionLists, listOf(&r.conditions))
	add(r, &r.workloads, p.Workloads, readWorkload)
	add(r, &r.states, p.ContainerStates, readContainerState)
	add(r, &r.containers, p.Containers, readContainer)
	add(r, &r.containerLists, p.ContainerLists, listOf(&r.containers))
	add(r, &r.podSpecs, p.PodSpecs, readPodSpec)
	add(r, &r.podPhases, p.PodPhases, readPodPhase)
	add(r, &r.pods, p.Pods, readPod)
	add(r, &r.statuses, p.Statuses, readStatus)
	add(r, &r.notices, p.Notices, readNotice)
	add(r, &r.audits, p.Audits, (*Reader).Request)
}

// add adds the values of the messages to a table.
func add[T, M any](r *Reader, table *[]T, messages []*M, value func(*Reader, *M) T) {
	for _, m := range messages {
		if r.err != nil {
			return
		}
		*table = append(*table, value(r, m))
	}
}

// listOf returns the conversion of a list of values of the table.
func listOf[T any](table *[]*T) func(*Reader, *statepb.List) []*T {
	return func(r *Reader, l *statepb.List) []*T { return all(r, *table, l.GetValues()) }
}

// all returns the values with these numbers. No value is nil.
func all[T any](r *Reader, table []*T, numbers []uint64) []*T {
	if len(numbers) == 0 {
		return nil
	}
	out := make([]*T, len(numbers))
	for i, n := range numbers {
		out[i] = must(r, table, n)
	}
	return out
}

// values returns the values of the messages.
func values[T, M any](r *Reader, messages []*M, value func(*Reader, *M) T) []T {
	if len(messages) == 0 {
		return nil
	}
	out := make([]T, len(messages))
	for i, m := range messages {
		out[i] = value(r, m)
	}
	return out
}

// at returns the value with the number n in the table. The number 0 is the zero value.
func at[T any](r *Reader, table []T, n uint64) (v T) {
	switch {
	case n == 0:
	case n <= uint64(len(table)):
		v = table[n-1]
	default:
		r.Fail("a reference has no value")
	}
	return v
}

// must is at for a value that is never nil.
func must[T any](r *Reader, table []*T, n uint64) *T {
	if n == 0 {
		r.Fail("a value is missing")
	}
	return at(r, table, n)
}

// Text returns the text of that number.
func (r *Reader) Text(n uint64) string { return at(r, r.texts, n) }

// TraceID returns the trace ID of that number.
func (r *Reader) TraceID(n uint64) (id trace.TraceID) {
	text := r.Text(n)
	copy(id[:], text)
	if n != 0 && len(text) != len(id) {
		r.Fail("a trace ID is invalid")
	}
	return id
}

// SpanID returns the span ID of that number.
func (r *Reader) SpanID(n uint64) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

// Time returns the time.
func (r *Reader) Time(t *statepb.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	if t.Nanos >= uint32(time.Second) {
		r.Fail("a time is invalid")
	}
	at := time.Unix(r.epoch+t.Seconds, int64(t.Nanos))
	if !t.Local {
		at = at.UTC()
	}
	return at
}
