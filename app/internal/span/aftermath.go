// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// Aftermath is what happened to the Pods of a change in the time after its convergence, beside the time before the
// change. It has facts only; the outcome of the change stays.
type Aftermath struct {
	// Converged is the time of the convergence, and Window the time from then on that counts. Over means that nothing
	// more will count.
	Converged time.Time     `json:"converged"`
	Window    time.Duration `json:"window"`
	Over      bool          `json:"over,omitempty"`
	// Latest is the time of the newest incident.
	Latest time.Time `json:"latest"`
	// Incidents are those of the Pods that the change made, after its convergence.
	Incidents
	// Before are those of the other Pods of the same workloads, in the time BeforeWindow up to the start of the change.
	// That is 0 for a workload from that time: nothing is known then.
	Before       Incidents     `json:"before,omitzero"`
	BeforeWindow time.Duration `json:"beforeWindow,omitempty"`
}

// Incidents counts what happened to Pods.
type Incidents struct {
	// Restarts counts those of containers, and OOMKills the ends of containers for lack of memory.
	Restarts int `json:"restarts,omitempty"`
	OOMKills int `json:"oomKills,omitempty"`
	// ReadinessLosses counts how often a Pod was not ready any more.
	ReadinessLosses int `json:"readinessLosses,omitempty"`
	Evictions       int `json:"evictions,omitempty"`
	FailedProbes    int `json:"failedProbes,omitempty"`
	// Exits are the known ends of containers, the most frequent first, at most MaxExits.
	Exits []Exit `json:"exits,omitempty"`
}

// Exit is one way in which a container ended, and how often.
type Exit struct {
	Container string `json:"container"`
	// Code is the exit code. An end by a signal has 128 and its number, as in a shell.
	Code int `json:"code"`
	// Reason is that of the container runtime, such as OOMKilled.
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"count"`
}

// MaxExits bounds the ways in which containers ended.
const MaxExits = 8

// None reports whether nothing happened.
func (i *Incidents) None() bool {
	return i.Restarts+i.OOMKills+i.ReadinessLosses+i.Evictions+i.FailedProbes+len(i.Exits) == 0
}

// Add adds other incidents. The order of calls matters only above MaxExits.
func (i *Incidents) Add(other *Incidents) {
	i.Restarts += other.Restarts
	i.OOMKills += other.OOMKills
	i.ReadinessLosses += other.ReadinessLosses
	i.Evictions += other.Evictions
	i.FailedProbes += other.FailedProbes
	if len(other.Exits) == 0 {
		return
	}
	all := slices.Clone(i.Exits)
	for _, e := range other.Exits {
		if at := slices.IndexFunc(all, e.alike); at >= 0 {
			all[at].Count += e.Count
		} else {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Exit) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Container, b.Container), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	i.Exits = all[:min(len(all), MaxExits)]
}

func (e Exit) alike(other Exit) bool {
	return e.Container == other.Container && e.Code == other.Code && e.Reason == other.Reason
}

// An aftermath is a span without length, named NameAftermath, below the root of its trace. It has a series for each
// workload. Of a series, the span with the highest number is valid: its counts include those of the others. So the
// order of the spans does not matter.

// IsAftermath reports whether s has the aftermath of a change.
func (s *Span) IsAftermath() bool { return s.Name == NameAftermath && s.Origin == nil }

// Revises reports whether s changes what is known of a finished trace beyond its spans: it is a new claim about an
// outcome, or an aftermath.
func (s *Span) Revises() bool { return s.IsClaim() || s.IsAftermath() }

// AftermathOf returns the aftermath of t by its valid spans, or nil without one.
func AftermathOf(t *Trace) *Aftermath {
	return AftermathWhere(t, func(*Span) bool { return true })
}

// AftermathWhere returns the aftermath by the valid spans for which counts is true, or nil without one.
func AftermathWhere(t *Trace, counts func(*Span) bool) (out *Aftermath) {
	valid := aftermaths(t)
	for _, series := range slices.Sorted(maps.Keys(valid)) {
		switch s := valid[series]; {
		case !counts(s):
		case out == nil:
			out = s.Aftermath()
		default:
			out.add(s.Aftermath())
		}
	}
	return out
}

// add adds the aftermath of another workload of the change.
func (a *Aftermath) add(other *Aftermath) {
	if other.Converged.Before(a.Converged) {
		a.Converged = other.Converged
	}
	if other.Latest.After(a.Latest) {
		a.Latest = other.Latest
	}
	a.Window, a.Over = max(a.Window, other.Window), a.Over && other.Over
	a.BeforeWindow = max(a.BeforeWindow, other.BeforeWindow)
	a.Incidents.Add(&other.Incidents)
	a.Before.Add(&other.Before)
}

// aftermaths returns the valid span of each series.
func aftermaths(t *Trace) map[int]*Span {
	var out map[int]*Span
	for _, s := range t.Spans {
		if !s.IsAftermath() {
			continue
		}
		if out == nil {
			out = map[int]*Span{}
		}
		series := s.number(KeyAftermathSeries)
		if valid := out[series]; valid == nil || valid.number(KeyAftermath) < s.number(KeyAftermath) {
			out[series] = s
		}
	}
	return out
}

// newest returns t without aftermaths that newer ones replace, or t itself.
func newest(t *Trace) *Trace {
	valid := aftermaths(t)
	replaced := func(s *Span) bool { return s.IsAftermath() && valid[s.number(KeyAftermathSeries)] != s }
	if len(valid) == 0 || !slices.ContainsFunc(t.Spans, replaced) {
		return t
	}
	out := *t
	out.Spans = slices.DeleteFunc(slices.Clone(t.Spans), replaced)
	return &out
}

// number returns the integer attribute of that key, or 0.
func (s *Span) number(key attribute.Key) int {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return int(kv.Value.AsInt64())
		}
	}
	return 0
}

// Attributes returns the attributes of the span with a: the number of the span in its series, and the facts. A fact
// that is 0 has none.
func (a *Aftermath) Attributes(series, number int) []attribute.KeyValue {
	out := []attribute.KeyValue{
		KeyAftermath.Int(number), KeyAftermathSeries.Int(series),
		KeyAftermathSince.String(a.Converged.UTC().Format(time.RFC3339Nano)),
		KeyAftermathWindow.Float64(a.Window.Seconds()), KeyAftermathOver.Bool(a.Over),
	}
	out = a.Incidents.attributes(out, aftermathKeys)
	if a.BeforeWindow > 0 {
		out = append(out, KeyBeforeWindow.Float64(a.BeforeWindow.Seconds()))
		out = a.Before.attributes(out, beforeKeys)
	}
	return out
}

// incidentKeys are the keys of Incidents: of its counts in their order, and of its exits.
type incidentKeys struct {
	counts [5]attribute.Key
	exits  attribute.Key
}

var (
	aftermathKeys = incidentKeys{
		[5]attribute.Key{
			KeyAftermathRestarts, KeyAftermathOOMKills, KeyAftermathReadinessLosses, KeyAftermathEvictions,
			KeyAftermathFailedProbes,
		},
		KeyAftermathExits,
	}
	beforeKeys = incidentKeys{
		[5]attribute.Key{
			KeyBeforeRestarts, KeyBeforeOOMKills, KeyBeforeReadinessLosses, KeyBeforeEvictions, KeyBeforeFailedProbes,
		},
		KeyBeforeExits,
	}
)

// counts are the counts of i, in the order of incidentKeys.
func (i *Incidents) counts() [5]*int {
	return [5]*int{&i.Restarts, &i.OOMKills, &i.ReadinessLosses, &i.Evictions, &i.FailedProbes}
}

func (i *Incidents) attributes(out []attribute.KeyValue, keys incidentKeys) []attribute.KeyValue {
	for at, n := range i.counts() {
		if *n != 0 {
			out = append(out, keys.counts[at].Int(*n))
		}
	}
	if len(i.Exits) == 0 {
		return out
	}
	exits := make([]string, len(i.Exits))
	for at, e := range i.Exits {
		exits[at] = strings.Join([]string{e.Container, strconv.Itoa(e.Code), strconv.Itoa(e.Count), e.Reason}, "/")
	}
	return append(out, keys.exits.StringSlice(exits))
}

// Aftermath returns the aftermath in s. It ignores attributes of another form.
func (s *Span) Aftermath() *Aftermath {
	a := &Aftermath{Latest: s.Start.Time}
	for _, kv := range s.Attributes {
		switch kv.Key {
		case KeyAftermathSince:
			a.Converged, _ = time.Parse(time.RFC3339Nano, kv.Value.AsString())
		case KeyAftermathWindow:
			a.Window = seconds(kv)
		case KeyAftermathOver:
			a.Over = kv.Value.AsBool()
		case KeyBeforeWindow:
			a.BeforeWindow = seconds(kv)
		default:
			a.Incidents.read(kv, aftermathKeys)
			a.Before.read(kv, beforeKeys)
		}
	}
	return a
}

func seconds(kv attribute.KeyValue) time.Duration {
	return time.Duration(kv.Value.AsFloat64() * float64(time.Second))
}

// read sets the field of an attribute.
func (i *Incidents) read(kv attribute.KeyValue, keys incidentKeys) {
	if at := slices.Index(keys.counts[:], kv.Key); at >= 0 {
		*i.counts()[at] = int(kv.Value.AsInt64())
	}
	if kv.Key != keys.exits {
		return
	}
	for _, text := range kv.Value.AsStringSlice() {
		const parts = 4 // a reason may have a slash
		fields := strings.SplitN(text, "/", parts)
		if len(fields) < parts || len(i.Exits) == MaxExits {
			continue
		}
		code, err := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err == nil && err2 == nil {
			i.Exits = append(i.Exits, Exit{fields[0], code, fields[3], count})
		}
	}
}
