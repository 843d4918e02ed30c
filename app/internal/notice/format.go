// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Format is the form of the notices of a receiver.
type Format string

// The formats.
const (
	CloudEvents  Format = "cloudevents"
	Slack        Format = "slack"
	PagerDuty    Format = "pagerduty"
	Alertmanager Format = "alertmanager"
)

// PagerDutyURL is the default URL of the format PagerDuty.
const PagerDutyURL = "https://events.pagerduty.com/v2/enqueue"

// origin describes the sending server.
type origin struct {
	// cluster is the cluster's UID, and page the URL of the web page; "" for none.
	cluster, page string
	// key is the routing key of PagerDuty. It is secret.
	key string
}

// link returns the URL of the cause on the page, or "".
func (o *origin) link(n *Notice) string {
	if o.page == "" {
		return ""
	}
	base := strings.TrimSuffix(o.page, "/")
	if n.Cause == nil || n.Cause.TraceID == "" {
		return base + "/"
	}
	return base + "/trace/" + n.Cause.TraceID
}

// encode returns a notice in a format, and the type of the content.
func encode(f Format, n *Notice, o *origin) (body []byte, contentType string, err error) {
	const plainJSON = "application/json"
	switch f {
	case Slack:
		body, err = slackMessage(n, o)
		return body, plainJSON, err
	case PagerDuty:
		body, err = pagerDutyEvent(n, o)
		return body, plainJSON, err
	case Alertmanager:
		body, err = alerts([]Notice{*n}, o, n.Time)
		return body, plainJSON, err
	default:
		body, err = cloudEvent(n, o)
		return body, "application/cloudevents+json; charset=UTF-8", err
	}
}

// title returns what the notice is about: "Problem", "Resolved".
func (n *Notice) title() string {
	switch n.Type {
	case Resolved:
		return "Resolved"
	case Changed:
		return "Problem changed"
	case Worse:
		return "Change converged, " + span.ThenWorse
	case Failed:
		return "Change " + cmp.Or(string(n.Outcome), string(span.Failed))
	case Slower:
		return "Slower"
	case SlowerEnded:
		return "No longer slower"
	default:
		return "Problem"
	}
}

// subject returns the object as Kind/namespace/name, or "". A regression of a kind has no name.
func (n *Notice) subject() string {
	switch {
	case n.Object == nil && n.Slower != nil:
		return plain(strings.Trim(n.Slower.Kind+"/"+n.Slower.Namespace, "/"))
	case n.Object == nil:
		return ""
	}
	return plain(strings.Join([]string{n.Object.Kind.Kind, n.Object.Namespace, n.Object.Name}, "/"))
}

// what returns the notice in one sentence.
func (n *Notice) what() string {
	out := n.Reason
	switch {
	case out != "":
	case n.Object != nil:
		out = plain(n.Object.Kind.Kind + " " + n.Object.Name)
	case n.Cause != nil:
		out = n.Cause.Command
	}
	switch {
	case n.Count > 1 && n.Slower != nil:
		out += fmt.Sprintf(" (%d workloads)", n.Count)
	case n.Count > 1:
		out += fmt.Sprintf(" (%d objects)", n.Count)
	}
	return out
}

// why returns the cause as "jane: image web:1 → web:9", the explanation of a regression, or "".
func (n *Notice) why() string {
	if n.Explanation != "" {
		return n.Explanation
	}
	if n.Cause == nil {
		return ""
	}
	what := strings.Join(n.Cause.Edits, "; ")
	if what == "" && n.Cause.Object != nil {
		what = plain(strings.TrimSpace(n.Cause.Verb + " " + n.Cause.Object.Kind.Kind + " " + n.Cause.Object.Name))
	}
	if what == "" {
		what = n.Cause.Command
	}
	if n.Cause.Who == "" {
		return what
	}
	return strings.TrimSuffix(n.Cause.Who+": "+what, ": ")
}

// age returns the time from which the problem lasts, or "".
func (n *Notice) age() string {
	if n.Since.IsZero() {
		return ""
	}
	since := n.Since.UTC().Format("2006-01-02 15:04 UTC")
	if n.Before {
		return "before " + since
	}
	return since
}

// stamp returns a time as RFC 3339.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
