// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ThenWorse is the mark of an aftermath, after the outcome of its change: "converged, then worse".
const ThenWorse = "then worse"

// After returns a sentence that begins with the outcome of the change: "converged in 4.2 s; since then 14 restarts in
// 9 min (0 in the day before): container app exited with 137 (OOMKilled)". It is outcome itself for a nil a.
func (a *Aftermath) After(outcome string) string {
	if a == nil {
		return outcome
	}
	return outcome + "; since then " + a.Text()
}

// Text returns the facts in words, as in After. Every text about an aftermath has them. Names in it are not escaped.
func (a *Aftermath) Text() string {
	facts := a.facts()
	words := make([]string, len(facts))
	for i, f := range facts {
		words[i] = f.text(f.now)
	}
	text := strings.Join(words, ", ") + " in " + length(a.Latest.Sub(a.Converged))
	if a.BeforeWindow > 0 {
		text += " (" + before(facts) + " in the " + a.period() + " before)"
	}
	if exits := a.exits(); exits != "" {
		text += ": " + exits
	}
	return text
}

// fact is one count with its words.
type fact struct {
	now, before int
	one, many   string
}

func (f fact) text(n int) string {
	if n == 1 {
		return "1 " + f.one
	}
	return fmt.Sprintf("%d %s", n, f.many)
}

// facts returns the counts for the text. An exit, a restart or an eviction explains a loss of readiness. Exits are
// counted only without the others.
func (a *Aftermath) facts() []fact {
	all := []fact{
		{a.Restarts, a.Before.Restarts, "restart", "restarts"},
		{a.Evictions, a.Before.Evictions, "eviction", "evictions"},
		{a.FailedProbes, a.Before.FailedProbes, "failed probe", "failed probes"},
	}
	if a.ReadinessLosses > max(a.Restarts, ended(a.Exits))+a.Evictions {
		all = append(all, fact{a.ReadinessLosses, a.Before.ReadinessLosses, "loss of readiness", "losses of readiness"})
	}
	var out []fact
	for _, f := range all {
		if f.now > 0 {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		out = []fact{{ended(a.Exits), ended(a.Before.Exits), "exit of a container", "exits of containers"}}
	}
	return out
}

func ended(exits []Exit) (n int) {
	for _, e := range exits {
		n += e.Count
	}
	return n
}

// before returns the same counts in the time before.
func before(facts []fact) string {
	if len(facts) == 1 {
		return strconv.Itoa(facts[0].before)
	}
	var words []string
	for _, f := range facts {
		if f.before > 0 {
			words = append(words, f.text(f.before))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// period returns the time before in words, after "in the".
func (a *Aftermath) period() string {
	const day = 24 * time.Hour
	if a.BeforeWindow == day {
		return "day"
	}
	return length(a.BeforeWindow)
}

// length returns a duration in words: whole seconds, minutes or hours.
func length(d time.Duration) string {
	const exact = 2 // of the next unit are given in this one
	switch {
	case d < exact*time.Minute:
		return fmt.Sprintf("%d s", int(max(0, d).Round(time.Second).Seconds()))
	case d < exact*time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
}

// maxNamedExits bounds the ways of ending in a text.
const maxNamedExits = 2

// exits says how containers ended; "" without a known end.
func (a *Aftermath) exits() string {
	named := a.Exits[:min(len(a.Exits), maxNamedExits)]
	words := make([]string, len(named))
	for i, e := range named {
		words[i] = e.text(len(a.Exits) > 1)
	}
	if n := ended(a.Exits[len(named):]); n > 0 {
		words = append(words, fact{one: "other exit", many: "other exits"}.text(n))
	}
	return strings.Join(words, ", ")
}

// text says how the container ended. counted adds how often.
func (e Exit) text(counted bool) string {
	const plain = "Error" // the reason of every code but 0
	text := "container " + e.Container + " exited "
	if counted && e.Count > 1 {
		text += fmt.Sprintf("%d times ", e.Count)
	}
	text += fmt.Sprintf("with %d", e.Code)
	if e.Reason != "" && e.Reason != plain {
		text += " (" + e.Reason + ")"
	}
	return text
}
