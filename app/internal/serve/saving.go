// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// openState has the open traces at the time of the saved engine, for a process that cannot
	// restore it. orphansState has the orphans of the present process.
	openState    = "open-traces"
	orphansState = "orphans"
)

// keep adds the state for the next start to the look: another chunk of the inputs, or the engine
// itself if that was requested.
func (r *recorder) keep(l *look, data []byte) {
	if r.save {
		err := r.saveEngine(l)
		if err == nil {
			return
		}
		r.Warn("the stored inputs of the engine continue instead", errAttr(err))
	}
	i := &l.inputs
	l.State[inputName(i.next)] = data
	i.next++
	i.bytes += len(data)
}

// long reports whether the stored inputs are so long that the engine should replace them.
func (r *recorder) long() bool {
	i := &r.inputs
	return !r.blocked() && (i.bytes > max(minInputs, i.saved) || i.next-i.first >= maxChunks)
}

// replaceInputs stores the engine in place of its inputs. It must follow a stored look: the results
// of that look do not wait for the engine of a large cluster. After an error, the inputs stay.
func (r *recorder) replaceInputs(ctx context.Context) error {
	l := &look{
		Changes: &journal.Changes{AsOf: r.asOf, Renewals: &r.renewals, State: map[string][]byte{}},
		open:    r.open,
	}
	if err := r.saveEngine(l); err != nil {
		return err
	}
	if err := r.journal.Commit(ctx, l.Changes); err != nil {
		return err
	}
	r.inputs = l.inputs
	return nil
}

// saveEngine adds the engine to the look, and removes its inputs.
func (r *recorder) saveEngine(l *look) error {
	var out bytes.Buffer
	out.Grow(r.inputs.saved + r.inputs.saved/8)
	if err := r.engine.Save(&out); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	options, err := r.encodeOptions(l.AsOf)
	if err != nil {
		return err
	}
	l.State[engineState], l.State[optionsState] = out.Bytes(), options
	l.State[openState] = packTraces(l.open)
	for n := r.inputs.first; n < r.inputs.next; n++ {
		l.State[inputName(n)] = nil
	}
	l.inputs = inputs{first: r.inputs.next, next: r.inputs.next, saved: out.Len()}
	r.save = false
	return nil
}

// refill turns a failed look into a full one, for an empty journal.
func (r *recorder) refill(l *look) error {
	renewals := r.journal.Renewals()
	l.State[filledState] = []byte{1}
	for key, p := range r.at {
		l.State[watchState+key] = []byte(p.String())
	}
	for name, place := range r.places {
		l.State[name] = []byte(place)
	}
	if r.joining != nil {
		maps.Copy(l.State, r.joining.recopy(l.AsOf))
	}
	if r.Notices != nil {
		r.saveNotices(l, true)
	}
	l.State[orphansState] = r.orphans.pack()
	if r.Held != nil {
		held := r.Held()
		l.Entries, l.again = slices.Concat(held, l.fresh()), len(held)
	}
	if err := r.saveEngine(l); err != nil {
		return err
	}
	l.State[inputName(r.inputs.next)] = nil // this look's chunk is in the engine
	r.renewals = renewals
	return nil
}

// packTraces encodes traces, each after its length.
func packTraces(traces []*span.Trace) []byte {
	out := []byte{}
	for _, t := range traces {
		data := span.PackTrace(t)
		out = append(binary.AppendUvarint(out, uint64(len(data))), data...)
	}
	return out
}

// unpackTraces is the reverse of packTraces. It returns the traces before the first damage, too.
func unpackTraces(data []byte) ([]*span.Trace, error) {
	var out []*span.Trace
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) { //nolint:gosec // size is within data
			return out, errTraces
		}
		data = data[size:]
		t, err := span.UnpackTrace(data[:n])
		if err != nil {
			return out, fmt.Errorf("%w: %w", errTraces, err)
		}
		out, data = append(out, t), data[n:]
	}
	return out, nil
}

var errTraces = errors.New("saved traces are damaged")
