// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	day = 24 * time.Hour
	// days is the length of a month.
	days = 30
	// slowFrom and slowTo are the slow week, in days of the month: every image of the first registry takes slowdown
	// times as long.
	slowFrom, slowTo = 14, 21
	slowdown         = 8
	// From heavyFrom on, each new version of heavyApp takes heavier times as long to get ready.
	heavyFrom, heavier = 9, 3
	heavyApp           = "web"
	// From tiredFrom on, the sandboxes on tiredNode take tired times as long.
	tiredFrom, tired = 17, 6
	tiredNode        = "node-5"
	// From mirrorFrom on, each image of the second registry takes mirrored times as long.
	mirrorFrom, mirrored = 20, 5
	// patience is the progress deadline of the Deployments.
	patience = 10 * time.Minute
)

// month is 30 days of finished changes in a synthetic cluster: rollouts, of which some fail and are repaired,
// autoscaling, configuration, and nightly Jobs. It is the same for the same values.
type month struct {
	Seed uint64
	// End is the end of the last change, or later.
	End time.Time
}

func (m month) start() time.Time { return m.End.Add(-days * day) }

// slow reports whether a time is in the slow week.
func (m month) slow(at time.Time) bool { return m.since(slowFrom, at) && !m.since(slowTo, at) }

// since reports whether a time is on a day of the month, or later.
func (m month) since(n int, at time.Time) bool { return at.Sub(m.start()) >= time.Duration(n)*day }

// application is a Deployment and its present state.
type application struct {
	namespace, name string
	// author changes it.
	author author
	// low is the usual number of Pods, and high that at noon; equal without an autoscaler.
	low, high int

	// version is the present version, and newest the last released one.
	pods, version, newest int
	// heavy is the first version that takes long to get ready; 0 without one.
	heavy int
	// broken: the last rollout failed, and its repair is planned.
	broken bool
	// free is the end of the last change.
	free time.Time
}

// author is a program and its user.
type author struct{ actor, user string }

var (
	flux = author{"kustomize-controller", "system:serviceaccount:flux-system:kustomize-controller"}
	argo = author{"argocd-application-controller", "system:serviceaccount:argocd:argocd-application-controller"}
)

func applications() []*application {
	alice, bob := author{"kubectl", "alice@example.com"}, author{"kubectl", "bob@example.com"}
	chidi, dana := author{"helm", "chidi@example.com"}, author{"kubectl", "dana@example.com"}
	all := []*application{
		{namespace: "shop", name: "web", author: alice, low: 3, high: 6},
		{namespace: "shop", name: "cart", author: alice, low: 2, high: 4},
		{namespace: "shop", name: "catalog", author: bob, low: 2, high: 2},
		{namespace: "payments", name: "checkout", author: chidi, low: 3, high: 3},
		{namespace: "payments", name: "ledger", author: chidi, low: 2, high: 2},
		{namespace: "search", name: "query", author: flux, low: 2, high: 5},
		{namespace: "search", name: "indexer", author: flux, low: 1, high: 1},
		{namespace: "identity", name: "login", author: argo, low: 2, high: 2},
		{namespace: "identity", name: "profile", author: dana, low: 1, high: 1},
	}
	for _, a := range all {
		a.pods, a.version, a.newest = a.low, 1, 1
	}
	return all
}

// nightly are the CronJobs.
var nightly = []struct {
	namespace, name string
	at              time.Duration
}{
	{"payments", "settlement", time.Hour},
	{"shop", "backup", 2 * time.Hour},
	{"search", "compact", 3*time.Hour + 30*time.Minute},
}

// planned is a change before it has its content.
type planned struct {
	at time.Time
	// make adds the trace. It skips a change of an application that is still busy with another.
	make func(w *writer, at time.Time)
}

// traces returns the changes by their starts. All have ended before the end of the month.
func (m month) traces() []*span.Trace {
	w := &writer{month: m, r: rand.New(rand.NewPCG(m.Seed, days))} //nolint:gosec // a repeatable history
	apps := applications()
	for date := m.start().Truncate(day); date.Before(m.End); date = date.Add(day) {
		w.planNight(date)
		w.planDay(date, apps)
	}
	w.plan = slices.DeleteFunc(w.plan, func(p planned) bool {
		return p.at.Before(m.start()) || p.at.After(m.End.Add(-time.Hour)) // each change takes less than an hour
	})
	slices.SortStableFunc(w.plan, func(a, b planned) int { return a.at.Compare(b.at) })
	for len(w.plan) > 0 {
		next := w.plan[0]
		w.plan = w.plan[1:]
		next.make(w, next.at) // it may plan a repair
	}
	slices.SortStableFunc(w.traces, func(a, b *span.Trace) int {
		return a.Root().Start.Compare(b.Root().Start.Time)
	})
	return w.traces
}

// planNight plans the Jobs of a date.
func (w *writer) planNight(date time.Time) {
	for _, job := range nightly {
		w.add(date.Add(job.at), func(w *writer, at time.Time) { w.job(job.namespace, job.name, at) })
	}
}

// planDay plans the changes by people, tools and autoscalers of a date.
func (w *writer) planDay(date time.Time, apps []*application) {
	rollouts, settings := 9+w.r.IntN(8), 2+w.r.IntN(3)
	if date.Weekday() == time.Saturday || date.Weekday() == time.Sunday {
		rollouts, settings = w.r.IntN(3), 0
	}
	for range rollouts {
		app := apps[w.r.IntN(len(apps))]
		w.add(w.working(date), func(w *writer, at time.Time) { w.release(app, at) })
	}
	for range settings {
		app := apps[w.r.IntN(len(apps))]
		w.add(w.working(date), func(w *writer, at time.Time) { w.configure(app, at) })
	}
	for _, app := range apps {
		if app.high == app.low {
			continue
		}
		noon := date.Add(11*time.Hour + w.between(0, 90*time.Minute))
		w.add(noon, func(w *writer, at time.Time) { w.scale(app, app.high, at) })
		w.add(noon.Add(7*time.Hour), func(w *writer, at time.Time) { w.scale(app, app.low, at) })
	}
}

// insert plans a further change while the plan is carried out.
func (w *writer) insert(at time.Time, change func(*writer, time.Time)) {
	i, _ := slices.BinarySearchFunc(w.plan, at, func(p planned, at time.Time) int { return p.at.Compare(at) })
	w.plan = slices.Insert(w.plan, i, planned{at, change})
}

func (w *writer) add(at time.Time, change func(*writer, time.Time)) {
	w.plan = append(w.plan, planned{at, change})
}

// working returns a time in the working hours of a date; most are around noon.
func (w *writer) working(date time.Time) time.Time {
	return date.Add(8*time.Hour + w.between(0, 5*time.Hour) + w.between(0, 5*time.Hour))
}

// fails reports whether a change fails: one of that many. None of the last day does, so nothing is broken at the end.
func (w *writer) fails(at time.Time, one int) bool {
	return w.r.IntN(one) == 0 && at.Before(w.month.End.Add(-day))
}

// between returns a random time from low to high.
func (w *writer) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.r.Int64N(int64(high-low)))
}
