// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var histories = flag.Int("histories", 60, "how many random histories are followed")

// world is a cluster in which parts of traces begin and end, and the group that observes it.
// Members see Tables and States with random delays.
type world struct {
	t       *testing.T
	r       *rand.Rand
	log     []string
	rv      uint64
	table   Table // the published one
	parts   []*part
	members []*member
	names   int
	began   uint64 // the beginning of the first epoch
	sent    map[string]int
	settled uint64            // the end of all open parts
	kept    uint64            // the number of resourceVersions that the API server keeps
	asked   map[string]uint64 // the Since of crashed members
}

// part is the part of a trace in one namespace.
type part struct {
	id        string
	namespace string
	first     uint64
	writes    []uint64
	ended     bool
}

// member is a process: its observations, its output and its published State.
type member struct {
	identity  string
	view      View
	synced    View // of the observed namespaces
	published State
	at        uint64            // the end of its observations
	from      map[string]uint64 // the observed namespaces, and the beginning without a gap
	done      map[string]bool   // decided parts
	ready     bool
	leaving   bool
	gone      bool // it has stopped
	crashed   bool // it stopped with open work
	expired   bool // the others have noticed
}

// trace is the member's trace of p: the writes since it began to observe, and the version from the
// list.
func (m *member) trace(p *part) *span.Trace {
	from, ok := m.from[p.namespace]
	if !ok || p.first > m.at || p.ended && p.writes[len(p.writes)-1] <= from {
		return nil // a settled object of a list is no change (L7)
	}
	var listed, first uint64
	for _, rv := range p.writes {
		if rv <= from {
			listed = rv
		} else if rv <= m.at && first == 0 {
			first = rv
		}
	}
	if listed != 0 {
		first = listed
	}
	return traceOf(p.id, Firsts{p.namespace: {RV: first, Listed: listed != 0}})
}

// traceOf returns a trace with one write in each namespace; 0 means none.
func traceOf(id string, firsts Firsts) *span.Trace {
	out := &span.Trace{}
	copy(out.ID[:], id)
	for _, ns := range slices.Sorted(maps.Keys(firsts)) {
		s := &span.Span{TraceID: out.ID, Name: "reconcile ConfigMap", Object: object.Ref{Namespace: ns, Name: "x"}}
		if first := firsts[ns]; first.RV != 0 {
			attrs := []attribute.KeyValue{span.KeyRV.Int64(int64(first.RV))}
			if first.Listed {
				attrs = append(attrs, span.KeyTimeEnd.String(string(span.TimeObject)))
			}
			s.Events = []span.Event{{Name: span.EventWrite, Attributes: attrs}}
		}
		out.Spans = append(out.Spans, s)
	}
	return out
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%d: ", w.rv)+fmt.Sprintf(format, args...))
}

// short is a Table on one line.
func short(t Table) string {
	out := fmt.Sprintf("v%d", t.Version)
	for _, e := range t.Epochs {
		out += fmt.Sprintf(" %d@%d%v", e.ID, e.From, e.live())
		for _, g := range e.Gone {
			out += fmt.Sprintf("-%s<%d", g.Identity, g.Since)
		}
	}
	if t.Pending != nil {
		out += fmt.Sprintf(" pending %+v", *t.Pending)
	}
	return out
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	log := slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { // lines about other parts
		return strings.Contains(line, " sends ") && len(args) > 1 &&
			!strings.Contains(line, fmt.Sprintf(" sends %v of", args[0])) &&
			!strings.Contains(line, fmt.Sprintf(" sends %v of", args[1]))
	})
	w.t.Fatalf("%s\nhistory:\n%s\ntable: %s", fmt.Sprintf(format, args...), strings.Join(log, "\n"), short(w.table))
}

func (w *world) running() []*member {
	return slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return m.gone })
}

func (w *world) namespaces() []string {
	out := []string{""}
	for i := range 12 {
		out = append(out, fmt.Sprintf("ns-%d", i))
	}
	return out
}

// write begins a part, or adds to one, and sometimes ends it.
func (w *world) write() {
	w.rv++
	var open []*part
	for _, p := range w.parts {
		if !p.ended {
			open = append(open, p)
		}
	}
	if len(open) < 3 || w.r.IntN(3) == 0 {
		all := w.namespaces()
		p := &part{
			id:        fmt.Sprintf("trace-%d", len(w.parts)),
			namespace: all[w.r.IntN(len(all))],
			first:     w.rv,
			writes:    []uint64{w.rv},
		}
		w.parts = append(w.parts, p)
		return
	}
	p := open[w.r.IntN(len(open))]
	p.writes = append(p.writes, w.rv)
	p.ended = w.r.IntN(3) == 0
}

func (w *world) join() {
	w.names++
	m := &member{identity: fmt.Sprintf("m%d", w.names), from: map[string]uint64{}, done: map[string]bool{}, at: w.rv}
	m.view = NewView(Table{}, m.identity, true)
	w.members = append(w.members, m)
	w.note("%s joins", m.identity)
}

// observe advances the member to the present of the cluster, or almost.
func (w *world) observe(m *member) {
	if w.rv > m.at {
		m.at += 1 + w.r.Uint64N(w.rv-m.at)
	}
}

// apply gives the member the published Table.
func (w *world) apply(m *member) {
	if m.view.table.Version == w.table.Version {
		return
	}
	m.view, m.ready = NewView(w.table, m.identity, true), false
}

// sync makes the member observe the namespaces of its View.
func (w *world) sync(m *member) {
	m.ready = true
	for _, c := range Changes(m.synced, m.view, w.namespaces()) {
		known, does := m.from[c.Namespace]
		switch {
		case !c.Observe:
			delete(m.from, c.Namespace)
		case c.Since == 0:
			m.from[c.Namespace] = m.at // a list
		default:
			from := min(c.Since-1, m.at)
			if from+w.kept < w.rv {
				from = m.at // too old: a list
			}
			if does {
				from = min(from, known)
			}
			m.from[c.Namespace] = from
			for _, p := range w.parts {
				if p.namespace == c.Namespace && p.writes[len(p.writes)-1] >= c.Since {
					delete(m.done, p.id)
				}
			}
		}
	}
	m.synced = m.view
}

// export hands out this member's ended parts.
func (w *world) export(m *member) {
	for _, p := range w.parts {
		if !p.ended || p.writes[len(p.writes)-1] > m.at || m.done[p.id] {
			continue
		}
		t := m.trace(p)
		if t == nil || m.view.Undecided(t) {
			continue
		}
		m.done[p.id] = true
		if m.view.Mine(t) == nil {
			continue
		}
		w.sent[p.id]++
		w.note("%s sends %s of %q since %d (from %v)", m.identity, p.id, p.namespace, p.first, FirstsOf(t))
		if w.sent[p.id] > 1 && !w.mayRepeat(p, FirstsOf(t)[p.namespace].Listed) {
			w.fail("%s sends %s, which was sent before, without a crash of its owner", m.identity, p.id)
		}
	}
}

// mayRepeat reports whether p may have been sent by a member that crashed before it published so.
// If the heir found the part in a list, the published State may not count.
func (w *world) mayRepeat(p *part, listed bool) bool {
	for _, since := range w.asked {
		if listed || p.writes[len(p.writes)-1] >= since {
			return true
		}
	}
	return false
}

// open is the resourceVersion below which the member's work is done.
func (w *world) open(m *member) uint64 {
	since := m.at + 1
	for _, p := range w.parts {
		if p.first > m.at || m.done[p.id] {
			continue
		}
		if t := m.trace(p); t != nil {
			if rv, ok := m.view.Since(t); ok {
				since = min(since, rv)
			}
		}
	}
	return since
}

// publish publishes the member's State.
func (w *world) publish(m *member) {
	m.published = State{
		Version: m.view.table.Version, Ready: m.ready, Seen: m.at, Leaving: m.leaving,
		Since: floor(w.open(m), m.view.table, m.ready),
	}
}

func (w *world) plan() {
	var all []Status
	for _, m := range w.members {
		if m.published.Version == 0 && m.published.Seen == 0 && !m.gone {
			continue // it has not published a State
		}
		all = append(all, Status{Identity: m.identity, State: m.published, Expired: m.expired})
	}
	before := w.table
	next, changed := Plan(w.table, all)
	if !changed {
		return
	}
	w.table = next
	for _, m := range w.members {
		for _, e := range next.Epochs {
			if g := e.gone(m.identity); g != nil && m.crashed {
				w.asked[m.identity] = g.Since
			}
		}
	}
	if w.began == 0 && len(next.Epochs) > 0 {
		w.began = w.rv
	}
	w.note("table %s", short(next))
	w.check(before)
}

// check requires that each part has one living owner after the first epoch. Ownership of past parts
// moves only with a reason.
func (w *world) check(before Table) {
	alive := map[string]bool{}
	for _, m := range w.members {
		alive[m.identity] = !m.expired
	}
	last := w.table.Epochs
	if len(last) == 0 || len(last[len(last)-1].live()) == 0 {
		return
	}
	for _, ns := range w.namespaces() {
		for _, p := range append([]uint64{0, w.rv, w.rv + 100}, last[len(last)-1].From) {
			owner, over := w.table.Owner(ns, p)
			if over {
				continue
			}
			if !alive[owner] {
				w.fail("%q at %d belongs to %q, which is not alive", ns, p, owner)
			}
			was, _ := before.Owner(ns, p)
			if p <= w.rv && alive[was] && was != owner && p < last[len(last)-1].From && p != 0 {
				w.fail("%q at %d moves from %q, which is alive, to %q", ns, p, was, owner)
			}
		}
	}
}

func (w *world) crash(m *member, finished bool) {
	m.gone = true
	w.note(
		"%s is gone (finished %t), since %d version %d",
		m.identity,
		finished,
		m.published.Since,
		m.published.Version,
	)
	m.crashed = !finished
}

func (w *world) bury(m *member) {
	if m.gone && !m.expired {
		m.expired = true
		w.note("%s counts as gone", m.identity)
	}
}

// act performs one random event.
func (w *world) act(crashes bool) {
	running := w.running()
	if len(running) == 0 || len(running) < 6 && w.r.IntN(120) == 0 {
		w.join()
		return
	}
	m := running[w.r.IntN(len(running))]
	switch n := w.r.IntN(100); {
	case n < 30:
		w.write()
	case n < 42:
		w.observe(m)
	case n < 50:
		w.apply(m)
	case n < 58:
		w.sync(m)
	case n < 72:
		w.export(m)
	case n < 86:
		w.publish(m)
	case n < 96:
		w.plan()
	case n < 97 && crashes && w.r.IntN(8) == 0:
		w.crash(m, false)
	case n < 98 && len(running) > 2 && w.r.IntN(4) == 0 && !m.leaving:
		m.leaving = true
		w.note("%s begins to leave", m.identity)
	case m.leaving && m.published.Leaving && drained(w.table, m.identity, m.published):
		w.crash(m, true)
	default:
		for _, m := range w.members {
			w.bury(m)
		}
	}
}

// settle ends all open parts.
func (w *world) settle() {
	if len(w.running()) == len(w.leavers()) {
		w.join()
	}
	w.rounds(30)
	w.settled = w.rv
	for _, p := range w.parts {
		if !p.ended {
			w.rv++
			p.writes, p.ended = append(p.writes, w.rv), true
		}
	}
	w.rounds(60)
	for _, p := range w.parts {
		if w.sent[p.id] == 0 && w.due(p) {
			w.fail(
				"no member has sent %s of %q, which began at %d and ended at %d",
				p.id,
				p.namespace,
				p.first,
				p.writes[len(p.writes)-1],
			)
		}
	}
	if n := len(w.table.Epochs); n > 1 && w.table.Pending == nil && len(w.leavers()) == 0 {
		w.fail("%d epochs are left though nothing is open", n)
	}
}

// rounds makes all members do all steps, n times.
func (w *world) rounds(n int) {
	for range n {
		for _, m := range w.members {
			w.bury(m)
		}
		w.rv++
		for _, m := range w.running() {
			m.at = w.rv
			w.apply(m)
			w.sync(m)
			w.export(m)
			w.publish(m)
		}
		w.plan()
	}
}

// due reports whether p has to be sent. Parts that ended before the first epoch are not. With a
// crash and a short history of the API server, neither are those before the settling.
func (w *world) due(p *part) bool {
	last := p.writes[len(p.writes)-1]
	return last >= w.began && (w.kept > w.rv || last > w.settled || len(w.asked) == 0)
}

func (w *world) leavers() []*member {
	return slices.DeleteFunc(w.running(), func(m *member) bool { return !m.leaving })
}

// TestNothingIsLostOrSentTwice follows random histories of a group whose members
// see Tables and each other's States late.
func TestNothingIsLostOrSentTwice(t *testing.T) {
	for _, c := range []struct {
		crashes bool
		kept    uint64
	}{{false, 40}, {true, 1e6}, {true, 40}} {
		crashes := c.crashes
		t.Run(fmt.Sprintf("Crashes=%t,Kept=%d", crashes, c.kept), func(t *testing.T) {
			sent, total, epochs := 0, 0, int64(0)
			for seed := range uint64(*histories) {
				w := &world{
					t:     t,
					r:     rand.New(rand.NewPCG(seed, 7)),
					rv:    10,
					kept:  c.kept,
					sent:  map[string]int{},
					asked: map[string]uint64{},
				}
				w.join()
				for range 1500 {
					w.act(crashes)
				}
				w.settle()
				for _, p := range w.parts {
					if w.due(p) {
						total++
						sent += w.sent[p.id]
					}
				}
				epochs += w.table.Version
			}
			t.Logf("%d parts were sent %d times; %d changes of tables", total, sent, epochs)
			if !crashes && sent != total {
				t.Errorf("%d parts were sent %d times without a crash", total, sent)
			}
		})
	}
}
