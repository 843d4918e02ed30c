// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"time"
)

const (
	// alertsPath is the path of Alertmanager's API for new alerts.
	alertsPath = "/api/v2/alerts"
	// repeatEvery is the pause between repetitions. Alertmanager keeps alerts in memory, and expects this.
	repeatEvery = time.Minute
	// holdAlerts is the time after which an alert without repetitions ends. It is longer than a restart of
	// the server: that must not resolve an alert.
	holdAlerts = time.Hour
	// maxAlerts bounds the alerts of one request.
	maxAlerts = 200
)

// alert is an element of Alertmanager's POST /api/v2/alerts. Its labels identify it.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// alerts returns notices as alerts at the time now.
func alerts(notices []Notice, o *origin, now time.Time) ([]byte, error) {
	out := make([]alert, 0, len(notices))
	for i := range notices {
		n := &notices[i]
		a := alert{
			Labels: filled(map[string]string{
				"alertname": "LifelineProblem", "category": n.First, "problem": n.Problem, "regression": n.Regression,
			}),
			Annotations: filled(map[string]string{
				"summary": n.what(), "object": n.subject(), "cause": n.why(), "next": n.Next, "since": n.age(),
			}),
			EndsAt: stamp(now.Add(holdAlerts)), GeneratorURL: o.link(n),
		}
		if n.Object != nil {
			a.Labels["kind"] = n.Object.Kind.Kind
			if n.Object.Namespace != "" {
				a.Labels["namespace"] = n.Object.Namespace
			}
		}
		if of := n.Slower; of != nil {
			a.Labels["alertname"], a.Labels["phase"], a.Labels["kind"] = "LifelineRegression", of.Phase, of.Kind
			if of.Namespace != "" {
				a.Labels["namespace"] = of.Namespace
			}
		}
		if n.ends() {
			a.EndsAt = stamp(n.Time)
		}
		starts := n.Since
		if starts.IsZero() || starts.After(n.Time) { // it must not be after the end
			starts = n.Time
		}
		a.StartsAt = stamp(starts)
		out = append(out, a)
	}
	return json.Marshal(out)
}

// filled removes empty values.
func filled(all map[string]string) map[string]string {
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}
