// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
)

// young is the time below which a count of zero means nothing: components send every five seconds.
const young = time.Minute

// checkServer reports whether there is a server.
func checkServer(f *Facts) Check {
	c := Check{Name: "server", Status: OK}
	s := f.server()
	switch {
	case s == nil && lacksReviews(f.Server.Unknown):
		c.Status, c.Found = Missing, f.Server.Unknown
		c.Lose = "every answer: the server cannot learn what its callers may see"
		c.Add = []Lines{{
			Where: "for its ServiceAccount",
			Text:  "lifeline rbac -n lifeline --config lifeline.yaml | kubectl apply -f -\n",
		}}
		return c
	case s == nil:
		c.Status, c.Found = Advice, f.Server.Unknown
		c.Lose = "whatever components and the audit log tell: without a server a trace is what the cluster's objects " +
			"show, and what lifeline run sees of its command's requests"
		c.Add = []Lines{{Where: "a shell; for a cluster: " + docs.Install, Text: "lifeline serve &\n"}}
		return c
	}
	c.Found = fmt.Sprintf("lifeline %s has %s, %d open; it counts for %s", s.Version,
		plural(int(s.Stats.Traces), "trace"), s.Stats.Open, duration(s.counted()))
	if s.Mode != "" && s.Mode != "single" {
		c.Found += "; one of several (" + s.Mode + "): the others have their own counts"
	}
	return c
}

// lacksReviews reports whether an error says that the server may not review tokens or rights.
func lacksReviews(text string) bool {
	return strings.Contains(text, "may not create subjectaccessreviews") ||
		strings.Contains(text, "may not create tokenreviews")
}

// checkWatching reports the resources that the server may not read.
func checkWatching(f *Facts) Check {
	s := f.server()
	if s == nil {
		return none
	}
	c := Check{Name: "server's rights", Status: OK}
	w := s.From.Watch
	switch {
	case !w.Watching:
		c.Status, c.Found = Unknown, "it watches nothing now: it starts, or stands by for another"
	case len(w.Unreadable) > 0:
		c.Status = Missing
		c.Found = fmt.Sprintf("it may not read %d of %s: %s", len(w.Unreadable), plural(w.Resources, "resource"),
			some(w.Unreadable))
		c.Lose = "what happens to these, and what they cause"
		c.Add = []Lines{
			{
				Where: "for its ServiceAccount; or exclude them (watch.exclude)",
				Text:  "lifeline rbac -n lifeline --config lifeline.yaml | kubectl apply -f -\n",
			},
		}
	default:
		c.Found = "it watches " + plural(w.Resources, "resource")
	}
	if lag := time.Duration(w.Lag); lag > 10*time.Second {
		if c.Status == OK {
			c.Status = Advice
		}
		c.Found += fmt.Sprintf("; what it sees is up to %s old", duration(lag))
		c.Lose = strings.TrimPrefix(c.Lose+"; what happened since, until it has caught up", "; ")
	}
	return c
}

// checkJoining reports whether there was room for the received spans.
func checkJoining(f *Facts) Check {
	s := f.server()
	if s == nil || s.From.Joining == nil || s.From.Joining.Received == 0 {
		return none
	}
	j := s.From.Joining
	c := Check{Name: "joining", Status: OK}
	c.Found = fmt.Sprintf("of %d spans %d belong to changes, %d to none, %d are polls; %d wait", j.Received,
		j.Joined+j.Late, j.Passed+j.Expired, j.Noise, j.Buffered)
	switch {
	case j.Evicted > 0:
		c.Status = Advice
		c.Found += fmt.Sprintf("; %d were dropped for want of room", j.Evicted)
		c.Lose = "these spans: more come than there is room to hold"
		c.Add = []Lines{
			{
				Where: "configuration of lifeline serve; or let components sample fewer traces",
				Text:  "joining:\n  window: 20s\n",
			},
		}
	case j.Surplus > 0:
		c.Status = Advice
		c.Found += fmt.Sprintf("; %d did not fit into their trace", j.Surplus)
		c.Lose = "these spans: a trace takes 20,000 of other components"
	}
	return c
}

// checkClocks reports components with wrong clocks.
func checkClocks(f *Facts) Check {
	s := f.server()
	if s == nil {
		return none
	}
	var wrong []string
	var worst float64
	for _, component := range s.From.Received.Components {
		if component.Corrected == 0 {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s's by %+.3f s on %s", component.Name, component.Correction,
			plural(int(component.Corrected), "span")))
		worst = max(worst, component.Correction, -component.Correction)
	}
	if len(wrong) == 0 {
		return none
	}
	c := Check{Name: "components' clocks", Status: OK, Found: "corrected where causes prove it, last: " + some(wrong)}
	if worst > badSkew {
		c.Status = Advice
		c.Lose = "exact times of what cannot be corrected: spans whose causes prove nothing"
		c.Add = []Lines{{Where: "the hosts of these components", Text: "timedatectl set-ntp true\n"}}
	}
	return c
}

// duration formats a duration: 3m20s, 15m, 2h5m.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Minute)
	}
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
