// SPDX-License-Identifier: Apache-2.0

package notice

import "encoding/json"

// pagerDuty is an event of PagerDuty's Events API v2.
type pagerDuty struct {
	RoutingKey  string            `json:"routing_key"`
	EventAction string            `json:"event_action"`
	DedupKey    string            `json:"dedup_key"`
	Client      string            `json:"client,omitempty"`
	ClientURL   string            `json:"client_url,omitempty"`
	Payload     *pagerDutyPayload `json:"payload,omitempty"`
	Links       []pagerDutyLink   `json:"links,omitempty"`
}

// pagerDutyPayload describes the problem. Summary has at most 1024 characters.
type pagerDutyPayload struct {
	Summary       string  `json:"summary"`
	Source        string  `json:"source"`
	Severity      string  `json:"severity"`
	Timestamp     string  `json:"timestamp"`
	Component     string  `json:"component,omitempty"`
	Group         string  `json:"group,omitempty"`
	Class         string  `json:"class,omitempty"`
	CustomDetails *Notice `json:"custom_details,omitempty"`
}

type pagerDutyLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// pagerDutyEvent returns the notice as an event. Another trigger of the same key adds to its alert.
func pagerDutyEvent(n *Notice, o *origin) ([]byte, error) {
	e := pagerDuty{RoutingKey: o.key, EventAction: "trigger", DedupKey: n.key()}
	if n.ends() {
		e.EventAction = "resolve"
		return json.Marshal(e)
	}
	e.Client = "Lifeline"
	e.Payload = &pagerDutyPayload{
		Summary: cut(n.what(), maxText), Source: o.cluster, Severity: "error", Timestamp: stamp(n.Time),
		Component: n.subject(), Class: n.Category, CustomDetails: n,
	}
	if n.Object != nil {
		e.Payload.Group = n.Object.Namespace
	}
	if n.Slower != nil {
		e.Payload.Severity, e.Payload.Class, e.Payload.Group = "warning", "regression", n.Slower.Namespace
	}
	if link := o.link(n); link != "" {
		e.ClientURL, e.Links = link, []pagerDutyLink{{link, "Lifeline"}}
	}
	return json.Marshal(e)
}
