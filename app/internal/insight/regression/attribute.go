// SPDX-License-Identifier: Apache-2.0

package regression

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
)

// Bounds of an attribution.
const (
	// ownSamples is the number of samples of the series on each side of a shift.
	ownSamples = 64
	// mostPeers is the largest number of other workloads, and peerSamples is the approximate number of their samples
	// on each side of a shift.
	mostPeers, peerSamples = 96, 384
	// near is the number of samples by which the place of a split is uncertain.
	near = 4
	// candidates is the largest number of explanations that are tested for one shift.
	candidates = 64
	// fewest is the smallest number of samples of another workload before the shift.
	fewest = 4
)

// object is a rollup or a part of one, in the time of a shift.
type object struct {
	// own objects are of the shift's series, others of peers: the same kind, verb and phase in the same cluster.
	own    bool
	record int32
	// log is the logarithm of the length, less the median of its workload before the shift.
	log float64
	// shared and further are attributes.
	shared, further []int32
}

func (o *object) has(attribute int32) bool {
	return slices.Contains(o.shared, attribute) || slices.Contains(o.further, attribute)
}

// scene is the objects before and after a shift.
type scene struct {
	*history
	of *shift
	// before are own objects only.
	before, after []object
	// unsure has the records next to the split, on both sides.
	unsure map[int32]bool
}

// candidate is one explanation under test.
type candidate struct {
	values []int32
	Factor
	// score is the part of the variance after the shift that the values explain.
	score float64
	// first is the record with which new values began.
	first int32
	// inside says which objects before and after the shift have the values.
	inside []bool
}

// scene collects the objects of a shift.
func (h *history) scene(of *shift, peers []*series) *scene {
	c := &scene{history: h, of: of}
	c.unsure = c.uncertain()
	from := max(of.before.from, of.before.to-ownSamples)
	to := min(of.after.to, of.after.from+ownSamples)
	start, turn, end := of.records[from], of.records[of.after.from], of.records[to-1]
	each := min(max(peerSamples/len(peers), fewest), ownSamples)
	stride := (len(peers) + mostPeers - 1) / mostPeers
	for n, s := range peers {
		if n%stride != 0 && s != of.series {
			continue
		}
		i := sort.Search(len(s.records), func(i int) bool { return s.records[i] >= start })
		j := sort.Search(len(s.records), func(i int) bool { return s.records[i] >= turn })
		k := sort.Search(len(s.records), func(i int) bool { return s.records[i] > end })
		if j-i < fewest || j == k {
			continue
		}
		logs := make([]float64, 0, j-i)
		for _, length := range s.lengths[i:j] {
			logs = append(logs, logarithm(length))
		}
		base := statistic.Middle(logs)
		if s != of.series {
			i, k = max(i, j-each), min(k, j+each)
		}
		for n := i; n < j; n++ {
			c.before = c.objects(c.before, s, n, base)
		}
		for n := j; n < k; n++ {
			c.after = c.objects(c.after, s, n, base)
		}
	}
	c.before = slices.DeleteFunc(c.before, func(o object) bool { return !o.own })
	slices.SortStableFunc(c.before, func(a, b object) int { return cmp.Compare(a.record, b.record) })
	slices.SortStableFunc(c.after, func(a, b object) int { return cmp.Compare(a.record, b.record) })
	return c
}

// objects appends the parts of a sample, or the whole if it has none.
func (c *scene) objects(out []object, s *series, n int, base float64) []object {
	r := &c.records[s.records[n]]
	add := func(length float64, further []int32) {
		next := object{s == c.of.series, s.records[n], logarithm(length) - base, r.attributes, further}
		if c.of.attribute >= 0 {
			next.own = next.has(c.of.attribute)
		}
		out = append(out, next)
	}
	if len(r.parts) == 0 {
		add(s.lengths[n], nil)
	}
	for i := range r.parts {
		if length, has := r.parts[i].length(s.phase); has {
			add(length, r.parts[i].attributes)
		}
	}
	return out
}

// explain returns the explanations of a shift, untested.
func (c *scene) explain() []candidate {
	out := c.later()
	for _, value := range c.frequent() {
		next := candidate{values: []int32{value}, first: c.of.records[c.of.after.from]}
		if c.weigh(&next, func(o *object) bool { return o.has(value) }) {
			out = append(out, next)
		}
	}
	return out
}

// frequent returns the attributes that many objects of the shift have, in order.
func (c *scene) frequent() []int32 {
	counts, all := map[int32]int{}, 0
	for i := range c.after {
		o := &c.after[i]
		if !o.own {
			continue
		}
		all++
		for _, a := range o.shared {
			counts[a]++
		}
		for _, a := range o.further {
			counts[a]++
		}
	}
	var out []int32
	for a, count := range counts {
		if 3*count >= all {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), c.attributes.values[a].Compare(c.attributes.values[b]))
	})
	return out[:min(len(out), candidates)]
}

// later returns the values that began with the shift, each with the later ones of its family: the next rollouts have
// further images, and are as slow.
func (c *scene) later() []candidate {
	turn := c.of.records[c.of.after.from]
	known := map[int32]bool{}
	type begin struct {
		value, record int32
	}
	begins := map[string]begin{}
	for _, objects := range [][]object{c.before, c.after} {
		for i := range objects {
			o := &objects[i]
			if !o.own || o.record > turn && !c.unsure[o.record] {
				continue
			}
			c.eachFamily(o, func(value int32, family string) {
				switch b, has := begins[family]; {
				case !c.unsure[o.record]:
					known[value] = true
				case !known[value] && (!has || b.record < turn && b.record < o.record):
					begins[family] = begin{value, o.record}
				}
			})
		}
	}
	families := make([]string, 0, len(begins))
	for f := range begins {
		families = append(families, f)
	}
	slices.Sort(families)
	var out []candidate
	for _, family := range families {
		b := begins[family]
		old := map[int32]bool{}
		for i := range c.before {
			if o := &c.before[i]; o.record < b.record {
				c.eachFamily(o, func(value int32, _ string) { old[value] = true })
			}
		}
		next := candidate{values: []int32{b.value}, first: b.record}
		next.Later = true
		inside := func(o *object) (is bool) {
			c.eachFamily(o, func(value int32, f string) { is = is || f == family && !old[value] })
			return is
		}
		if c.weigh(&next, inside) && next.New {
			out = append(out, next)
		}
	}
	return out
}

// uncertain returns the records of the shift next to the split, on both sides.
func (c *scene) uncertain() map[int32]bool {
	out := map[int32]bool{}
	s := c.of.series
	for i := max(c.of.before.from, c.of.before.to-near); i < min(c.of.after.from+near, c.of.after.to); i++ {
		if i < c.of.before.to || i >= c.of.after.from {
			out[s.records[i]] = true
		}
	}
	return out
}

func distance(a, b int) int { return max(a-b, b-a) }

// eachFamily calls yield for each attribute of an object whose values follow each other, such as images of one
// repository.
func (c *scene) eachFamily(o *object, yield func(value int32, family string)) {
	for _, list := range [][]int32{o.shared, o.further} {
		for _, a := range list {
			switch v := c.attributes.values[a]; v.Name {
			case sample.Image:
				yield(a, sample.RepositoryOf(v.Value))
			case sample.Kubelet, sample.Runtime, sample.Requests:
				yield(a, v.Name)
			}
		}
	}
}

// weigh measures an explanation, and reports whether the objects agree with it.
func (c *scene) weigh(next *candidate, inside func(*object) bool) bool {
	var own, ownWithout, with, without, former []float64
	next.inside = make([]bool, 0, len(c.before)+len(c.after))
	formerWith := 0
	for i := range c.before {
		is := inside(&c.before[i])
		next.inside = append(next.inside, is)
		former = append(former, c.before[i].log)
		if is {
			formerWith++
		}
	}
	for i := range c.after {
		o := &c.after[i]
		is := inside(o)
		next.inside = append(next.inside, is)
		switch {
		case o.own && c.unsure[o.record]: // it may be from before the shift
		case is && o.own:
			own = append(own, o.log)
		case is:
			with = append(with, o.log)
		case o.own:
			ownWithout = append(ownWithout, o.log)
		default:
			without = append(without, o.log)
		}
	}
	next.With, next.Without = len(own)+len(with), len(ownWithout)+len(without)
	next.New = len(own) > 0 && 10*formerWith <= len(former) && 2*len(ownWithout) <= len(own)
	if c.of.attribute >= 0 && !c.relative(next.New, own, with, without) ||
		c.of.attribute < 0 && !c.absolute(next.New, own, ownWithout, with, without) {
		return false
	}
	next.Share = 1
	reference := ownWithout
	if len(reference) < fewest {
		reference = without
	}
	if len(reference) >= fewest {
		next.Share = min(max(1-statistic.Middle(reference)/c.of.log, 0), 1)
	}
	a, b := slices.Concat(own, with), slices.Concat(ownWithout, without)
	next.score = explained(a, b, c.of.log)
	if next.New {
		b = append(b, former...)
	}
	slices.Sort(a)
	slices.Sort(b)
	next.P = statistic.Test(a, b)
	return true
}

// absolute reports whether values explain the shift of a workload: objects with them shift, and those without them do
// not. Values from before the shift need other workloads as evidence.
func (c *scene) absolute(isNew bool, own, ownWithout, with, without []float64) bool {
	const enough = statistic.Enough
	switch {
	case len(with) >= enough && !c.shifted(with), len(without) >= enough && c.shifted(without):
		return false
	case len(ownWithout) >= fewest && c.half(ownWithout):
		return false
	case isNew, len(ownWithout) >= enough && len(own) >= enough && c.shifted(own):
		return true
	}
	return len(with) >= enough && len(without) >= enough && !c.half(without)
}

// relative reports whether values explain the shift of an attribute's objects compared with others: other objects with
// the values shift as much, and objects without them do not.
func (c *scene) relative(isNew bool, own, with, without []float64) bool {
	const enough = statistic.Enough
	if len(own) < enough || len(with) >= enough && (statistic.Middle(own)-statistic.Middle(with))/c.of.log >= 0.5 {
		return false
	}
	if len(without) < enough {
		return isNew
	}
	return (statistic.Middle(slices.Concat(own, with))-statistic.Middle(without))/c.of.log >= 0.5
}

// half reports whether the median of values has at least half of the shift.
func (c *scene) half(values []float64) bool { return statistic.Middle(values)/c.of.log >= 0.5 }

// shifted reports whether most of the values shifted, rather than a half of them.
func (c *scene) shifted(values []float64) bool {
	if !c.half(values) { // it sorts them
		return false
	}
	n := len(values)
	if c.of.log < 0 {
		return values[n-1-n/4]/c.of.log >= 0.25
	}
	return values[n/4]/c.of.log >= 0.25
}

// explained returns the part of the variance of values that lies between two groups. Values far beyond the shift count
// as three times the shift.
func explained(a, b []float64, shift float64) float64 {
	bound := 3 * math.Abs(shift)
	sum := func(values []float64) (total float64) {
		for _, v := range values {
			total += min(max(v, -bound), bound)
		}
		return total
	}
	m, n := float64(len(a)), float64(len(b))
	sumA, sumB := sum(a), sum(b)
	mean := (sumA + sumB) / (m + n)
	var all float64
	for _, values := range [][]float64{a, b} {
		for _, v := range values {
			d := min(max(v, -bound), bound) - mean
			all += d * d
		}
	}
	if all == 0 || m == 0 || n == 0 {
		return 0
	}
	return (m*(sumA/m-mean)*(sumA/m-mean) + n*(sumB/n-mean)*(sumB/n-mean)) / all
}

// factors returns the explanations that hold at the level of significance, those that cannot be told apart as one.
func (c *scene) factors(all []candidate, cut float64) []candidate {
	all = slices.DeleteFunc(all, func(x candidate) bool { return x.P > cut })
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score), before(a.New, b.New), before(a.Later, b.Later),
			c.attributes.values[a.values[0]].Compare(c.attributes.values[b.values[0]]),
		)
	})
	var out []candidate
next:
	for _, x := range all {
		for i := range out {
			if slices.Contains(out[i].values, x.values[0]) {
				continue next
			}
			if alike(out[i].inside, x.inside) {
				out[i].values = append(out[i].values, x.values[0])
				continue next
			}
		}
		out = append(out, x)
	}
	for i := range out {
		for _, v := range out[i].values {
			out[i].Values = append(out[i].Values, c.attributes.values[v])
		}
	}
	return out
}

func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// alike reports whether two sets have nearly the same objects.
func alike(a, b []bool) bool {
	both, either := 0, 0
	for i := range a {
		if a[i] && b[i] {
			both++
		}
		if a[i] || b[i] {
			either++
		}
	}
	return 5*both >= 4*either
}

// byChange are the attributes that a change of the workload sets.
var byChange = map[string]bool{
	sample.Image: true, sample.Requests: true, sample.Replicas: true, sample.Author: true, sample.Changed: true,
	sample.Volumes: true, sample.StorageClass: true, sample.Scheduler: true,
}

// conclude sets the factors of a shift, and the change that began it.
func (c *scene) conclude(factors []candidate) {
	of := c.of
	for _, f := range factors {
		of.Factors = append(of.Factors, f.Factor)
	}
	if len(factors) == 0 || !factors[0].New {
		return
	}
	best := factors[0]
	if !slices.ContainsFunc(best.Values, func(v sample.Attribute) bool { return byChange[v.Name] }) {
		return
	}
	if first := &c.records[best.first]; of.attribute < 0 && !first.heals {
		of.Since, of.Change = first.start, first.trace
	}
}
