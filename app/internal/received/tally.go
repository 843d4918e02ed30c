// SPDX-License-Identifier: Apache-2.0

package received

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxComponents and maxHosts limit the stored names, and maxName the bytes of each.
	maxComponents = 32
	maxHosts      = 1024
	maxName       = 253

	// late is the time for the second half of a pair to come. Spans are up to five seconds late,
	// and audit events up to thirty.
	late = 45 * time.Second
	// latePod is the same for a Pod's first syncPod, which lasts until its images are pulled.
	latePod = 3 * time.Minute
)

// Tally counts received data. Create one with New. It is safe for concurrent use. A nil Tally
// counts nothing.
type Tally struct {
	mu         sync.Mutex
	since      time.Time
	components map[string]*component

	audit struct {
		writes, refused, answerable, answers series
		delay                                series // milliseconds
		last                                 time.Time
	}
	changes, granted                                   series
	writes, transactions, firstSyncs, sandboxes, calls *pairs
}

// component has the counts of one component.
type component struct {
	spans, joined, corrected series
	all                      int64
	last                     time.Time
	hosts                    map[string]time.Time
	version                  string
	correction               float64
}

// New returns a Tally that starts at now.
func New(now time.Time) *Tally {
	return &Tally{
		since:        now,
		components:   map[string]*component{},
		writes:       newPairs(late),
		transactions: newPairs(late),
		calls:        newPairs(late),
		firstSyncs:   newPairs(latePod),
		sandboxes:    newPairs(latePod),
	}
}

// Spans counts spans of other components, received at now. It skips Lifeline's own spans.
func (t *Tally) Spans(spans []*span.Span, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Consecutive spans of one resource are counted in one step, as a request usually has few
	// resources.
	var of *span.Resource
	var c *component
	run := int64(0)
	count := func() {
		if c != nil {
			c.spans.count(run, now)
			c.all += run
			run = 0
		}
	}
	for _, s := range spans {
		if s.Origin == nil || s.Origin.Scope.Name == span.ScopeName {
			continue
		}
		if c == nil || s.Origin.Resource == nil || s.Origin.Resource != of {
			count()
			of = s.Origin.Resource
			c = t.component(s.Service)
			c.last = now
			c.note(host(of), now)
			if v := version(of); v != "" && v != c.version {
				c.version = strings.Clone(span.Bound(v))
			}
		}
		run++
		t.pair(s, now)
	}
	count()
}

// pair records s as half of a pair. It skips spans that ended before the start: of their pairs,
// only one component may have buffered its half.
func (t *Tally) pair(s *span.Span, now time.Time) {
	if !s.End.IsZero() && s.End.Before(t.since) {
		return
	}
	switch s.Service {
	case APIServer:
		switch {
		case calls(s, "etcdserverpb.KV/"):
			t.transactions.note(expected, keyOf(s.TraceID, s.ID), now)
		case isWrite(s):
			if id := text(s.Attributes, keyAuditID); id != "" {
				t.writes.note(came, xxhash.Sum64String(id), now)
			}
			if isGranted(s) {
				t.granted.count(1, now)
			}
		}
	case Etcd:
		if answers(s, "etcdserverpb.KV/") {
			t.transactions.note(came, keyOf(s.TraceID, s.Parent), now)
		}
	case Kubelet:
		switch {
		case calls(s, "runtime.v1."):
			t.calls.note(expected, keyOf(s.TraceID, s.ID), now)
		case s.Name == "syncPod" && text(s.Attributes, keyUpdateType) == "create":
			t.firstSyncs.note(came, xxhash.Sum64String(text(s.Attributes, keyPodUID)), now)
		}
	default: // a runtime of any name
		if answers(s, "runtime.v1.") {
			t.calls.note(came, keyOf(s.TraceID, s.Parent), now)
		} else if s.Name == "cri.sandbox.run" {
			if uid := podOf(text(s.Attributes, keySandboxName)); uid != "" {
				t.sandboxes.note(came, xxhash.Sum64String(uid), now)
			}
		}
	}
}

// Observe counts an observation from the audit log or a watch. Both imply spans that must arrive.
func (t *Tally) Observe(o *observation.Observation, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.Source == observation.SourceAudit && o.Write != nil:
		t.audited(o, now)
	case o.Source != observation.SourceWatch || o.Listed || o.Baseline || o.Late:
	case o.State != nil:
		if o.State.Deleting.IsZero() {
			t.changes.count(1, now)
		}
		if justBound(o.State) {
			key := xxhash.Sum64String(string(o.State.UID))
			t.firstSyncs.note(expected, key, now)
			t.sandboxes.note(expected, key, now)
		}
	}
}

func (t *Tally) audited(o *observation.Observation, now time.Time) {
	w, a := o.Write, &t.audit
	a.last = now
	a.writes.count(1, now)
	a.delay.count(max(o.Seen.Sub(w.End), 0).Milliseconds(), now)
	if w.AuditID != "" {
		t.writes.note(expected, xxhash.Sum64String(w.AuditID), now)
	}
	if w.Failed() {
		a.refused.count(1, now)
		return
	}
	if w.Subresource == "" && !strings.HasPrefix(w.Verb, "delete") {
		a.answerable.count(1, now)
		if w.ResourceVersion != 0 {
			a.answers.count(1, now)
		}
	}
}

// justBound reports whether s is a Pod that is bound to a node, but not yet started by its kubelet.
// It is false for the mirror Pod of a static Pod, because the kubelet's spans have another UID.
func justBound(s *observation.State) bool {
	p := s.Pod
	if p == nil || p.Node == "" || !p.Started.IsZero() || !s.Deleting.IsZero() {
		return false
	}
	for _, owner := range s.Owners {
		if owner.Kind.Kind == "Node" {
			return false
		}
	}
	return true
}

// Joined counts the spans of other components in finished traces.
func (t *Tally) Joined(traces []*span.Trace, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, trace := range traces {
		for _, s := range trace.Spans {
			if s.Origin == nil {
				continue
			}
			c := t.component(s.Service)
			c.joined.count(1, now)
			for _, kv := range s.Attributes {
				if kv.Key == span.KeyCorrection {
					c.corrected.count(1, now)
					c.correction = kv.Value.AsFloat64()
				}
			}
		}
	}
}

// component returns the counts of a component. Above maxComponents, new names share those of
// Others.
func (t *Tally) component(name string) *component {
	if len(name) > maxName || name == "" {
		name = Others
	}
	if c := t.components[name]; c != nil {
		return c
	}
	if len(t.components) >= maxComponents && !slices.Contains([]string{
		APIServer, Kubelet, Containerd, Etcd, Scheduler, CSIDriver, DevicePlugin,
	}, name) {
		name = Others
		if c := t.components[name]; c != nil {
			return c
		}
	}
	c := &component{hosts: map[string]time.Time{}}
	t.components[strings.Clone(name)] = c
	return c
}

// note records that a host sent a span. It ignores an empty or long name, and a new one above
// maxHosts.
func (c *component) note(host string, now time.Time) {
	if _, known := c.hosts[host]; host == "" || len(host) > maxName ||
		!known && len(c.hosts) >= maxHosts && !c.forgetHosts(now) {
		return
	}
	c.hosts[strings.Clone(host)] = now
}

// forgetHosts removes the hosts without a span within the window, and reports whether there were
// any.
func (c *component) forgetHosts(now time.Time) bool {
	had := len(c.hosts)
	maps.DeleteFunc(c.hosts, func(_ string, last time.Time) bool { return now.Sub(last) > Window })
	return len(c.hosts) < had
}

// Summary returns the counts as of now.
func (t *Tally) Summary(now time.Time) Summary {
	out := Summary{AsOf: now, Window: int(Window.Seconds()), Components: []Component{}}
	if t == nil {
		return out
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Since = t.since
	for _, name := range slices.Sorted(maps.Keys(t.components)) {
		out.Components = append(out.Components, t.components[name].summary(name, now))
	}
	a := &t.audit
	out.Audit = Audit{
		Writes: a.writes.sum(now), Refused: a.refused.sum(now), Last: a.last,
		Answers: Rate{Of: a.answerable.sum(now), With: a.answers.sum(now)},
	}
	if out.Audit.Writes > 0 {
		out.Audit.Delay = float64(a.delay.sum(now)) / 1000 / float64(out.Audit.Writes)
	}
	out.Coverage = Coverage{
		Writes:       t.writes.rate(now),
		Changes:      Rate{Of: t.changes.sum(now), With: t.granted.sum(now)},
		Transactions: t.transactions.rate(now),
		Pods:         t.firstSyncs.rate(now),
		Sandboxes:    t.sandboxes.rate(now),
		Calls:        t.calls.rate(now),
	}
	return out
}

func (c *component) summary(name string, now time.Time) Component {
	c.forgetHosts(now)
	out := Component{
		Name: name, Spans: c.spans.sum(now), All: c.all, Last: c.last, Version: c.version,
		Joined: c.joined.sum(now), Corrected: c.corrected.sum(now),
	}
	if out.Corrected > 0 {
		out.Correction = c.correction
	}
	for _, host := range slices.Sorted(maps.Keys(c.hosts)) {
		out.Hosts = append(out.Hosts, Host{Name: host, Last: c.hosts[host]})
	}
	return out
}
