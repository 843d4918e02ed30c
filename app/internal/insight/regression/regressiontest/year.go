// SPDX-License-Identifier: Apache-2.0

// Package regressiontest makes years of synthetic rollups with known shifts, and judges what was found of them.
package regressiontest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

// Begin is the first day of each year.
var Begin = time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)

// Length is that of a year.
const Length = 52 * 7 * day

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Kinds of shifts.
const (
	Image    = "slower image"
	Node     = "slow node"
	Zone     = "slow zone"
	Registry = "slow registry"
	Upgrade  = "slower after an upgrade"
	Drift    = "slow drift"
	Two      = "two changes at once"
	Gone     = "went away"
)

// Kinds are all kinds, in the order of tables.
var Kinds = []string{Image, Node, Zone, Registry, Upgrade, Drift, Two, Gone}

// counts has the number of planted shifts of each kind; 30 in all.
var counts = map[string]int{Image: 10, Node: 4, Zone: 2, Registry: 2, Upgrade: 2, Drift: 4, Two: 3, Gone: 3}

// Planted is one shift that a year has.
type Planted struct {
	Kind, Phase string
	// From is its begin. Until is its end; zero if it lasts.
	From, Until time.Time
	// Ratio is that of lengths after and before.
	Ratio float64
	// Workload is set for a shift of one workload.
	Workload string
	// Factor is its cause; zero for a drift. For an image it is the first slow one.
	Factor sample.Attribute
	// Samples are the starts of the samples that it touches, in order.
	Samples []time.Time
}

// Year is a synthetic history.
type Year struct {
	Rollups []sample.Rollup
	Planted []Planted
	// WorkloadWeeks is the number of workloads times weeks. Lifecycles is the number of objects.
	WorkloadWeeks, Lifecycles int
}

// The size of the cluster.
const (
	nodes     = 24
	workloads = 40
)

type workload struct {
	namespace, name, registry string
	replicas                  int
	every                     time.Duration
	pull, readiness           float64
	// tagged: each rollout has a new image. Others change their configuration.
	tagged bool
	class  string
}

type maker struct {
	*rand.Rand
	year      Year
	workloads []workload
	upgrades  []time.Time
	serial    uint64
}

// Make returns the year of a seed, with shifts or without any.
func Make(seed uint64, planted bool) Year {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 56))} //nolint:gosec // a history needs a seed, no secret
	for i := range workloads {
		m.workloads = append(m.workloads, workload{
			namespace: fmt.Sprintf("team-%d", i%8), name: fmt.Sprintf("Deployment/app-%02d", i),
			registry: []string{"registry.example.com", "docker.io"}[i%2], replicas: 1 + m.IntN(12),
			every: time.Duration(20+m.IntN(40)) * time.Hour, pull: 1 + 7*m.Float64(), readiness: 1 + 19*m.Float64(),
			tagged: i%3 != 0, class: []string{"", "fast", "slow"}[m.IntN(3)],
		})
	}
	for i := range 4 {
		m.upgrades = append(m.upgrades, m.within(8+11*i, 14+11*i))
	}
	if planted {
		m.plant()
	}
	for i := range m.workloads {
		m.run(i)
	}
	slices.SortStableFunc(m.year.Rollups, func(a, b sample.Rollup) int { return a.Start.Compare(b.Start) })
	for i := range m.year.Planted {
		slices.SortFunc(m.year.Planted[i].Samples, time.Time.Compare)
	}
	m.year.WorkloadWeeks = workloads * int(Length/week)
	return m.year
}

func (m *maker) within(from, to int) time.Time {
	return Begin.Add(time.Duration(from) * week).Add(time.Duration(m.Int64N(int64(to-from) * int64(week))))
}

// plant chooses the shifts. Each workload has at most one of its own.
func (m *maker) plant() {
	order := m.Perm(workloads)
	upgrades := m.Perm(len(m.upgrades))
	phases := []string{"pull", "start", "readiness"}
	for _, kind := range Kinds {
		for i := range counts[kind] {
			p := Planted{Kind: kind, Ratio: 1.5, From: m.within(10, 40)}
			switch kind {
			case Image, Drift, Two, Gone:
				w := m.workloads[order[0]]
				order = order[1:]
				p.Workload, p.Phase = w.name, phases[m.IntN(len(phases))]
				if kind != Drift {
					p.Factor.Name = sample.Image // its value is known with the first rollout
				}
				if kind == Drift {
					p.Ratio, p.Until = 2, p.From.Add(20*week)
				}
				if kind == Gone {
					p.Until = p.From.Add(40 * w.every)
				}
			case Node:
				p.Factor = sample.Attribute{Name: sample.Node, Value: nodeName(m.IntN(nodes/4)*4 + i)}
				p.Phase, p.Until = "sandbox", p.From.Add(10*week)
			case Zone:
				p.Factor = sample.Attribute{Name: sample.Zone, Value: zoneOf(m.IntN(nodes))}
				p.Phase, p.From, p.Until = "start", m.within(10+16*i, 20+16*i), time.Time{}
				p.Until = p.From.Add(5 * week)
			case Registry:
				p.Factor = sample.Attribute{Name: sample.Registry, Value: m.workloads[i].registry}
				p.Phase, p.From = "pull", m.within(10+16*i, 20+16*i)
				p.Until = p.From.Add(6 * week)
			case Upgrade:
				at := upgrades[i]
				p.Factor = sample.Attribute{Name: sample.Kubelet, Value: version(at + 1)}
				p.Phase, p.From = []string{"sandbox", "schedule"}[i%2], m.upgrades[at]
			}
			m.year.Planted = append(m.year.Planted, p)
		}
	}
}

func nodeName(i int) string  { return fmt.Sprintf("node-%02d", i) }
func zoneOf(node int) string { return fmt.Sprintf("zone-%c", 'a'+node%3) }
func version(i int) string   { return fmt.Sprintf("v1.%d.0", 33+i) }

// run makes the samples of a workload: rollouts, mostly in working hours, and healings of single Pods.
func (m *maker) run(i int) {
	w := &m.workloads[i]
	heal := Begin.Add(m.exponential(10 * day))
	tag, requests := 1, "cpu=250m"
	image := func() string { return fmt.Sprintf("%s/%s/%s:%d", w.registry, w.namespace, w.name[11:], tag) }
	for at := Begin.Add(m.exponential(w.every)); at.Before(Begin.Add(Length)); at = at.Add(m.exponential(w.every)) {
		for ; heal.Before(at); heal = heal.Add(m.exponential(10 * day)) {
			m.roll(w, heal, image(), requests, "", 1, true)
		}
		if hour := at.Hour(); hour < 8 || hour > 19 {
			at = at.Add(time.Duration((32-hour)%24) * time.Hour)
		}
		changed := "env"
		if w.tagged {
			changed = "image"
			tag++
		}
		for j := range m.year.Planted {
			p := &m.year.Planted[j]
			if p.Workload != w.name || p.Factor.Name != sample.Image {
				continue
			}
			if p.Factor.Value == "" && !at.Before(p.From) {
				if !w.tagged {
					changed = "image"
					tag++
				}
				if p.Kind == Two {
					requests = fmt.Sprintf("cpu=%d", 2+i)
				}
				p.From, p.Factor.Value = at, image()
			}
			if p.Kind == Gone && changed == "env" && !at.Before(p.Until) && tag == 2 {
				changed, tag = "image", 1
			}
		}
		m.roll(w, at, image(), requests, changed, w.replicas, false)
	}
}

func (m *maker) exponential(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * (0.2 + 0.8*m.ExpFloat64()))
}

// roll adds one sample.
func (m *maker) roll(w *workload, at time.Time, image, requests, changed string, count int, heals bool) {
	m.serial++
	of := sample.Rollup{
		Cluster: "blue", Namespace: w.namespace, Workload: w.name, Kind: "Pod", Verb: "create", Heals: heals,
	}
	binary.BigEndian.PutUint64(of.Trace[:], m.serial)
	author := fmt.Sprintf("user-%d", m.IntN(5))
	kubelet := 0
	for _, u := range m.upgrades {
		if !at.Before(u) {
			kubelet++
		}
	}
	// The minute and the hour are common to the Pods of one rollout.
	busy := 1 + 0.05*math.Sin(2*math.Pi*float64(at.Hour())/24)
	common := map[string]float64{
		"schedule": 0.02 * m.noise(0.05), "sandbox": 0.4 * m.noise(0.05), "pull": w.pull * busy * m.noise(0.1),
		"start": 0.3 * m.noise(0.05), "readiness": w.readiness * m.noise(0.05),
	}
	touched := map[int]bool{}
	pods := make([]sample.Lifecycle, count)
	for i := range pods {
		node := m.IntN(nodes)
		attributes := []sample.Attribute{
			{Name: sample.Author, Value: author}, {Name: sample.Changed, Value: changed},
			{Name: sample.Image, Value: image},
			{Name: sample.InstanceType, Value: []string{"m5.large", "c5.large"}[node%2]},
			{Name: sample.Kubelet, Value: version(kubelet)}, {Name: sample.Node, Value: nodeName(node)},
			{Name: sample.NodePool, Value: []string{"general", "compute"}[node%2]},
			{Name: sample.Replicas, Value: strconv.Itoa(w.replicas)}, {Name: sample.Requests, Value: requests},
			{Name: sample.Scheduler, Value: "default-scheduler"}, {Name: sample.StorageClass, Value: w.class},
			{Name: sample.Zone, Value: zoneOf(node)},
		}
		attributes = slices.DeleteFunc(attributes, func(a sample.Attribute) bool {
			return a.Value == "" || heals && a.Name == sample.Author
		})
		phases := sample.Phases{}
		cached := heals && m.IntN(10) < 7
		var total float64
		for _, name := range []string{"schedule", "sandbox", "pull", "start", "readiness"} {
			if name == "pull" && cached {
				continue
			}
			length := common[name] * m.noise(0.25)
			for j := range m.year.Planted {
				if p := &m.year.Planted[j]; p.Phase == name && p.touches(w, at, attributes) {
					length *= p.ratio(at)
					touched[j] = true
				}
			}
			total += length
			phases[name] = seconds(length)
		}
		phases[sample.Total] = seconds(total + 0.05*m.noise(0.3))
		pods[i] = sample.Lifecycle{Start: at.Add(seconds(0.1 * float64(i))), Phases: phases, Attributes: attributes}
	}
	for j := range touched {
		m.year.Planted[j].Samples = append(m.year.Planted[j].Samples, at)
	}
	m.year.Rollups = append(m.year.Rollups, sample.Roll(of, pods))
	m.year.Lifecycles += count
}

// touches reports whether a shift makes a Pod slower.
func (p *Planted) touches(w *workload, at time.Time, attributes []sample.Attribute) bool {
	if at.Before(p.From) || p.Kind != Drift && !p.Until.IsZero() && !at.Before(p.Until) {
		return false
	}
	if p.Workload != "" {
		return p.Workload == w.name && (p.Kind == Drift || p.Factor.Value != "")
	}
	if p.Factor.Name == sample.Registry {
		return p.Factor.Value == w.registry
	}
	if p.Kind == Upgrade {
		return true // it stays slow after the next upgrades
	}
	return slices.Contains(attributes, p.Factor)
}

func (p *Planted) ratio(at time.Time) float64 {
	if p.Kind != Drift {
		return p.Ratio
	}
	return math.Pow(p.Ratio, min(1, float64(at.Sub(p.From))/float64(p.Until.Sub(p.From))))
}

func (m *maker) noise(sigma float64) float64 { return math.Exp(sigma * m.NormFloat64()) }

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Truncate(time.Microsecond)
}
