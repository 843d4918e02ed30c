// SPDX-License-Identifier: Apache-2.0

package regression

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
)

// longest is the largest number of values in a test. A longer series is tested by the medians of consecutive samples,
// and its latest samples a second time one by one.
const longest, latest = 1024, 512

// series is the samples of a Series.
type series struct {
	// owner and attribute say which; attribute is -1 in the series of a workload. Of a series of an attribute, owner
	// is any of its group.
	owner, phase, attribute int32
	// records has the record of each sample. lengths has its length in nanoseconds.
	records []int32
	lengths []float64
	// residuals are set in the series of an attribute: logarithms of ratios to other objects.
	residuals []float64
	// width is the number of samples of a value in a test.
	width int
	// p is the probability of the best split.
	p float64
	// cuts are the first samples of all segments but the first.
	cuts []int
}

// key identifies the series of a workload.
type key struct{ owner, phase int32 }

// group is the part of an owner whose objects are comparable.
type group struct{ cluster, kind, verb string }

func (h *history) group(owner int32) group {
	o := h.owners.values[owner]
	return group{o.cluster, o.kind, o.verb}
}

// name returns the public form of the series' identity.
func (h *history) name(s *series) Series {
	o := h.owners.values[s.owner]
	out := Series{Cluster: o.cluster, Kind: o.kind, Verb: o.verb, Phase: h.phases.values[s.phase]}
	if s.attribute >= 0 {
		out.Attribute = h.attributes.values[s.attribute]
		return out
	}
	out.Namespace, out.Workload = o.namespace, o.workload
	return out
}

// tested returns the values of a test: residuals or lengths, or medians of consecutive ones.
func (s *series) tested() []float64 {
	values := s.values()
	s.width = (len(values) + longest - 1) / longest
	if s.width <= 1 {
		return values
	}
	var out []float64
	for block := range slices.Chunk(slices.Clone(values), s.width) {
		out = append(out, statistic.Middle(block))
	}
	return out
}

func (s *series) values() []float64 {
	if s.residuals != nil {
		return s.residuals
	}
	return s.lengths
}

// end returns the latest samples.
func (s *series) end() []float64 { return s.values()[len(s.lengths)-latest:] }

// workloads returns the series of workloads and kinds, in a fixed order.
func (h *history) workloads() []*series {
	byKey := map[key]*series{}
	var out []*series
	for i := range h.records {
		r := &h.records[i]
		for _, l := range r.lengths {
			k := key{r.owner, l.phase}
			s := byKey[k]
			if s == nil {
				s = &series{owner: r.owner, phase: l.phase, attribute: -1}
				byKey[k], out = s, append(out, s)
			}
			s.records = append(s.records, int32(i))
			s.lengths = append(s.lengths, l.value)
		}
	}
	return out
}

// detect sets the splits of all series with enough samples. Of all splits at most the share level is false. It returns
// the number of series tested.
func detect(all []*series, level float64) int {
	var splitter statistic.Splitter
	var probabilities []float64
	for _, s := range all {
		if s.p = 1; len(s.lengths) < 2*statistic.Enough {
			continue
		}
		s.p = splitter.Search(s.tested()).P
		if s.width > 1 {
			s.p = min(1, 2*s.p, 2*splitter.Search(s.end()).P)
		}
		probabilities = append(probabilities, s.p)
	}
	tested := len(probabilities)
	cut := statistic.Correct(probabilities, level)
	for _, s := range all {
		if s.p > cut {
			continue
		}
		values := s.tested()
		if s.width == 1 {
			for _, split := range splitter.Segment(values, cut) {
				s.cuts = append(s.cuts, split.At)
			}
			continue
		}
		for _, split := range splitter.Segment(values, cut/2) {
			s.cuts = append(s.cuts, split.At*s.width)
		}
		for _, split := range splitter.Segment(s.end(), cut/2) {
			s.refine(len(s.lengths) - latest + split.At)
		}
	}
	return tested
}

// refine adds a split among the latest samples. It replaces one that medians found nearby.
func (s *series) refine(at int) {
	apart := statistic.Enough * s.width
	s.cuts = slices.DeleteFunc(s.cuts, func(cut int) bool { return distance(cut, at) < apart })
	s.cuts = append(s.cuts, at)
	slices.Sort(s.cuts)
}

// places are the attributes with series of their own. Only some objects of a workload have such a value, or it is
// common to many workloads.
var places = map[string]bool{
	sample.Node: true, sample.Zone: true, sample.InstanceType: true, sample.NodePool: true, sample.Runtime: true,
	sample.Kubelet: true, sample.Registry: true, sample.StorageClass: true, sample.Scheduler: true,
	sample.Webhook: true,
}

// member is a sample of an attribute's series.
type member struct {
	attribute, record int32
	residual, length  float64
}

// byAttribute returns the series of attributes. The parts of a rollout are compared with its median if there are
// three, and with the median of the workload's segment otherwise. So a shift of the whole workload is none of its
// nodes.
func (h *history) byAttribute(workloads []*series) []*series {
	type part struct {
		group
		phase int32
	}
	parts := map[part][]*series{}
	var order []part
	for _, s := range workloads {
		k := part{h.group(s.owner), s.phase}
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], s)
	}
	isPlace := make([]bool, len(h.attributes.values))
	for i, a := range h.attributes.values {
		isPlace[i] = places[a.Name]
	}
	var out []*series
	var members []member
	for _, k := range order {
		members = members[:0]
		for _, s := range parts[k] {
			members = h.members(s, isPlace, members)
		}
		slices.SortFunc(members, func(a, b member) int {
			return cmp.Or(cmp.Compare(a.attribute, b.attribute), cmp.Compare(a.record, b.record))
		})
		for from := 0; from < len(members); {
			to := from + 1
			for to < len(members) && members[to].attribute == members[from].attribute {
				to++
			}
			if to-from >= 2*statistic.Enough {
				out = append(out, seriesOf(parts[k][0].owner, k.phase, members[from:to]))
			}
			from = to
		}
	}
	return out
}

func seriesOf(owner, phase int32, members []member) *series {
	s := &series{owner: owner, phase: phase, attribute: members[0].attribute}
	for _, m := range members {
		s.records = append(s.records, m.record)
		s.lengths = append(s.lengths, m.length)
		s.residuals = append(s.residuals, m.residual)
	}
	return s
}

// members appends the samples that a workload gives to the series of attributes.
func (h *history) members(s *series, isPlace []bool, out []member) []member {
	var own []member
	for _, segment := range s.segments() {
		base := logarithm(statistic.Middle(slices.Clone(s.lengths[segment.from:segment.to])))
		for i := segment.from; i < segment.to; i++ {
			r := &h.records[s.records[i]]
			whole := logarithm(s.lengths[i])
			for _, a := range r.attributes {
				if isPlace[a] {
					out = append(out, member{a, s.records[i], whole - base, s.lengths[i]})
				}
			}
			center := base
			if len(r.parts) >= 3 {
				center = whole
			}
			own = own[:0]
			for p := range r.parts {
				part := &r.parts[p]
				length, has := part.length(s.phase)
				if !has {
					continue
				}
				for _, a := range part.attributes {
					if isPlace[a] {
						own = append(own, member{a, s.records[i], logarithm(length) - center, length})
					}
				}
			}
			out = appendMedians(out, own)
		}
	}
	return out
}

// appendMedians appends the middle member of each attribute: the parts of a rollout are one sample.
func appendMedians(out, own []member) []member {
	slices.SortFunc(own, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.attribute, b.attribute), cmp.Compare(a.residual, b.residual))
	})
	for from := 0; from < len(own); {
		to := from + 1
		for to < len(own) && own[to].attribute == own[from].attribute {
			to++
		}
		out = append(out, own[(from+to-1)/2])
		from = to
	}
	return out
}

// segment is the samples between two splits.
type segment struct{ from, to int }

func (s *series) segments() []segment {
	var out []segment
	from := 0
	for _, cut := range s.cuts {
		out = append(out, segment{from, cut})
		from = cut
	}
	return append(out, segment{from, len(s.lengths)})
}
