// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

// optionsState is the name of the engine's options.
const optionsState = "engine-options"

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

// saveNotices adds the notices to the look, if they have changed or always.
func (r *recorder) saveNotices(l *look, always bool) {
	if !always && !r.Notices.Changed() {
		return // State makes a document of all remembered changes
	}
	data, changed, err := r.Notices.State()
	if err != nil {
		r.Warn("the notices cannot be saved: a restart may repeat or lose some", errAttr(err))
		return
	}
	if changed || always {
		l.State[noticesState] = data
	}
}

// engineOptions are the stored lifecycle.Options, and their time.
type engineOptions struct {
	At       time.Time
	Cluster  string
	Settle   time.Duration
	Quiet    time.Duration
	Patience time.Duration
	// Aftermath is absent in the journal of an earlier release, which collects none.
	Aftermath time.Duration `json:",omitempty"`
	// DigestKey is watch.Config.Key.
	DigestKey []byte
	// Relations are the declarations of the relations in the configuration.
	Relations []string `json:",omitempty"`
	// Signals are the kinds that show their state, as Kind.group.
	Signals []string `json:",omitempty"`
}

func (r *recorder) encodeOptions(at time.Time) ([]byte, error) {
	o := r.Engine
	data, err := json.Marshal(engineOptions{
		At: at, Cluster: o.Cluster, Settle: o.Settle, Quiet: o.Quiet, Patience: o.Patience, Aftermath: o.Aftermath,
		DigestKey: r.digestKey[:], Relations: r.declarations(), Signals: r.signals.Names(),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the options of the engine: %w", err)
	}
	return data, nil
}

// declarations returns the declarations of the relations in the configuration.
func (r *recorder) declarations() []string {
	var out []string
	for _, of := range r.Relations.Stats() {
		out = append(out, of.Declaration.String())
	}
	return out
}
