// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"
)

// waves is the number of steps in which a rollout replaces the Pods of a Deployment.
const waves = 4

// birth is the time of each stage after the creation of a Pod, and death that after the request of its
// deletion.
var (
	birth = [...]time.Duration{
		podBound: 20 * time.Millisecond, podAccepted: 150 * time.Millisecond, podSandboxed: 600 * time.Millisecond,
		podStarted: 1100 * time.Millisecond, podSidecar: 1300 * time.Millisecond, podPassed: 2 * time.Second,
		podReady: 2300 * time.Millisecond,
	}
	death = [stages]time.Duration{
		podUnready: 900 * time.Millisecond, podEnded: 1200 * time.Millisecond, podFinished: 1400 * time.Millisecond,
	}
)

const (
	// removal is the time from the request of a deletion to the end of the Pod.
	removal = 1500 * time.Millisecond
	// waveEvery is the time between two waves: a new Pod becomes ready, and an old one is deleted.
	waveEvery = 3 * time.Second
	// spread is the time in which a wave creates its Pods, or deletes them.
	spread = 400 * time.Millisecond
	// countEvery and publishEvery are the times between two writes of the status of a workload, and
	// of an EndpointSlice, during a rollout.
	countEvery, publishEvery = 500 * time.Millisecond, time.Second
	// heartbeatEvery is the time between two writes of the status of a Node without a change.
	heartbeatEvery = 5 * time.Minute
)

// Rollout is the replacement of all Pods of one Deployment.
type Rollout struct {
	Namespace, Name string
	// Began is the time of the first write, and Ended that of the last one.
	Began, Ended time.Time
	// Pods are the names of the new Pods, and Old those of the replaced ones.
	Pods, Old []string
}

// Churned is the work of Churn.
type Churned struct {
	// Rollouts are the complete rollouts, in order of their ends.
	Rollouts []Rollout
	// Versions counts the writes of Pods, and their removals. Events counts Events.
	Versions, Events int
	// Changes counts the changes of all resources.
	Changes int
	// Late is the longest delay of a write against its plan. A large one is a fault of the generator
	// or a lack of processors, and the lags after it are too short.
	Late time.Duration
}

// churn is the state of one call of Churn.
type churn struct {
	*Cluster
	steps   steps
	planned int
	// pace is Size.Pace.
	pace float64
	// busy counts the steps of rollouts.
	busy int
	done Churned
	// ended is called after each rollout; may be nil.
	ended func(Rollout)
}

// Churn replaces rate Pods a second by rollouts of one Deployment after the other, for the time length
// or until ctx ends. It returns when all rollouts are complete. ended is called at the end of each
// rollout, and must return at once; nil means none.
func (c *Cluster) Churn(ctx context.Context, rate float64, length time.Duration, ended func(Rollout)) Churned {
	w := &churn{Cluster: c, ended: ended, pace: cmp.Or(c.size.Pace, 1)}
	before := c.Counts()
	began := time.Now()
	every := time.Duration(float64(c.size.Pods) / rate * float64(time.Second))
	var roll func(now time.Time)
	roll = func(now time.Time) {
		if now.Sub(began) >= length || ctx.Err() != nil {
			return
		}
		w.roll(c.deployments[c.turn%len(c.deployments)], now)
		c.turn++
		w.at(now.Add(every), roll)
	}
	w.at(began, roll)
	w.beat(ctx, began, length)
	for w.busy > 0 {
		next := heap.Pop(&w.steps).(step) //nolint:forcetypeassert // the type of the heap
		time.Sleep(time.Until(next.at))
		w.done.Late = max(w.done.Late, time.Since(next.at))
		next.do(next.at)
		if !next.idle {
			w.busy--
		}
	}
	after := c.Counts()
	w.done.Versions, w.done.Events = after["pods"]-before["pods"], after["events"]-before["events"]
	for name, n := range after {
		w.done.Changes += n - before[name]
	}
	return w.done
}

// Counts returns the number of changes since the start, by resource.
func (c *Cluster) Counts() map[string]int {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	out := map[string]int{}
	for id, n := range c.store.written {
		out[id.plural] += n
	}
	return out
}

// beat writes the heartbeats of the Nodes.
func (w *churn) beat(ctx context.Context, began time.Time, length time.Duration) {
	i := 0
	every := heartbeatEvery / time.Duration(len(w.nodes))
	var next func(now time.Time)
	next = func(now time.Time) {
		if now.Sub(began) >= length || ctx.Err() != nil {
			return
		}
		n := i % len(w.nodes)
		i++
		v := *w.nodes[n]
		v.time[ready] = now.Unix()
		w.nodes[n] = &v
		w.store.put(nodes, "", v.text[name], &templated{w.node, &v})
		w.plan(step{at: now.Add(every), idle: true, do: next})
	}
	w.plan(step{at: began.Add(every), idle: true, do: next})
}

// roll begins the rollout of a Deployment that is complete.
func (w *churn) roll(d *deployment, now time.Time) {
	if !d.complete {
		return
	}
	r := &rollout{churn: w, d: d}
	r.out = Rollout{Namespace: d.namespace, Name: d.name, Began: now}
	if d.old != nil {
		w.store.remove(replicaSets, d.namespace, d.old.name) // beyond the limit of the history
	}
	d.generation++
	d.revision++
	d.complete = false
	old := d.current
	d.changed = now
	w.putDeployment(w.store, d)
	w.after(now, 30*time.Millisecond, func(now time.Time) {
		d.old, d.current = old, w.newSet(d, now)
		d.current.wanted = d.wanted / waves
		w.putSet(w.store, d, d.current)
		d.observed, d.changed = d.generation, now
		w.putDeployment(w.store, d)
		r.wave(0, now)
		r.count(now)
		r.publish(now)
	})
}

// rollout is one rollout in progress.
type rollout struct {
	*churn
	d   *deployment
	out Rollout
	// slices counts the versions of the EndpointSlice.
	slices int64
	over   bool
}

// wave creates the Pods of one wave, and later deletes as many old ones.
func (r *rollout) wave(n int, now time.Time) {
	d := r.d
	from, to := n*int(d.wanted)/waves, (n+1)*int(d.wanted)/waves
	if n > 0 {
		d.current.wanted, d.current.generation = int32(to), d.current.generation+1
		r.putSet(r.store, d, d.current)
	}
	each := spread / time.Duration(to-from)
	for i := range to - from {
		r.after(now, time.Duration(i)*each, r.create)
	}
	r.after(now, birth[podReady]+spread, func(now time.Time) {
		d.old.wanted, d.old.generation = d.wanted-int32(to), d.old.generation+1
		r.putSet(r.store, d, d.old)
		for i, p := range d.old.pods[:min(to-from, len(d.old.pods))] {
			r.after(now, time.Duration(i)*each, func(now time.Time) { r.remove(p, now) })
		}
	})
	if n+1 < waves {
		r.after(now, waveEvery, func(now time.Time) { r.wave(n+1, now) })
		return
	}
	r.after(now, birth[podReady]+2*spread+removal+100*time.Millisecond, r.end)
}

// create creates a Pod and plans its way to readiness.
func (r *rollout) create(now time.Time) {
	p := r.newPod(r.d, r.d.current, now)
	r.out.Pods = append(r.out.Pods, p.values.text[name])
	r.putPod(r.store, p)
	for s := podBound; s <= podReady; s++ {
		r.after(now, birth[s], func(now time.Time) {
			p.stage = s
			r.putPod(r.store, p)
			switch s {
			case podBound:
				r.putEvent(r.store, p, eventScheduled, now)
			case podStarted:
				r.putEvent(r.store, p, eventPulled, now)
				r.putEvent(r.store, p, eventCreated, now)
				r.putEvent(r.store, p, eventStarted, now)
			}
		})
	}
}

// remove deletes an old Pod.
func (r *rollout) remove(p *pod, now time.Time) {
	v := *p.values
	v.time[deleted] = now.Add(gracePeriod * time.Second).Unix()
	v.time[ended] = now.Add(death[podEnded]).Unix()
	p.values, p.stage = &v, podDeleted
	r.out.Old = append(r.out.Old, v.text[name])
	r.putPod(r.store, p)
	r.putEvent(r.store, p, eventKilling, now)
	for s := podUnready; s < stages; s++ {
		r.after(now, death[s], func(time.Time) {
			p.stage = s
			r.putPod(r.store, p)
		})
	}
	r.after(now, removal, func(time.Time) {
		r.store.remove(pods, v.text[namespace], v.text[name])
		of := r.d.old
		of.pods = slices.DeleteFunc(slices.Clone(of.pods), func(other *pod) bool { return other == p })
	})
}

// count writes the status of the workloads if their Pods have changed.
func (r *rollout) count(now time.Time) {
	if r.over {
		return
	}
	if r.counted() {
		r.d.changed = now
		r.putDeployment(r.store, r.d)
	}
	r.after(now, countEvery, r.count)
}

// counted writes the ReplicaSets whose Pods have changed, and reports whether there are any.
func (r *rollout) counted() bool {
	changed := false
	for _, of := range []*replicaSet{r.d.current, r.d.old} {
		var total, serving int32
		for _, p := range of.pods {
			if p.stage < podDeleted {
				total++
			}
			if p.stage == podReady {
				serving++
			}
		}
		if total != of.total || serving != of.ready {
			of.total, of.ready, changed = total, serving, true
			r.putSet(r.store, r.d, of)
		}
	}
	return changed
}

// publish writes the EndpointSlice.
func (r *rollout) publish(now time.Time) {
	if r.over {
		return
	}
	r.slices++
	r.putSlice(r.store, r.d, 100*r.d.generation+r.slices)
	r.after(now, publishEvery, r.publish)
}

// end writes the last versions of the workloads.
func (r *rollout) end(now time.Time) {
	r.publish(now)
	r.over = true
	r.counted()
	r.d.complete, r.d.changed = true, now
	r.putDeployment(r.store, r.d)
	r.out.Ended = time.Now()
	r.done.Rollouts = append(r.done.Rollouts, r.out)
	if r.ended != nil {
		r.ended(r.out)
	}
}

// step is a planned write.
type step struct {
	at time.Time
	// order keeps steps of the same time in the order of their planning.
	order int
	// idle steps do not delay the end.
	idle bool
	do   func(now time.Time)
}

// steps is a heap by time.
type steps []step

func (s steps) Len() int { return len(s) }

func (s steps) Less(i, j int) bool {
	if s[i].at.Equal(s[j].at) {
		return s[i].order < s[j].order
	}
	return s[i].at.Before(s[j].at)
}

func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push implements heap.Interface.
func (s *steps) Push(x any) { *s = append(*s, x.(step)) } //nolint:forcetypeassert // by at alone

// Pop implements heap.Interface.
func (s *steps) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// after plans a step of a rollout at a time after now.
func (w *churn) after(now time.Time, d time.Duration, do func(now time.Time)) {
	w.at(now.Add(time.Duration(float64(d)*w.pace)), do)
}

// at plans a step of a rollout.
func (w *churn) at(when time.Time, do func(now time.Time)) {
	w.busy++
	w.plan(step{at: when, do: do})
}

func (w *churn) plan(s step) {
	w.planned++
	s.order = w.planned
	heap.Push(&w.steps, s)
}
