// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/received"
)

// Sources describes the sources of a server's traces, at /api/v1/sources: its watches, its
// receivers and its configuration. `lifeline doctor` derives the missing ones from it.
type Sources struct {
	Watch    WatchSource      `json:"watch"`
	Receives Receives         `json:"receives"`
	Received received.Summary `json:"received"`
	// Joining counts the spans of other components since the start; nil if none are received.
	Joining *Joining `json:"joining,omitempty"`
	// Relations are the relations of the configuration.
	Relations []Relation `json:"relations,omitempty"`
	// Configuration is the server's, without credentials.
	Configuration json.RawMessage `json:"configuration,omitempty"`
}

// WatchSource is the state of the watches.
type WatchSource struct {
	// Watching is true if this server watches now; a standby may not.
	Watching bool `json:"watching"`
	// Resources counts the watched resources. Unreadable are those, as resource.group, that are
	// forbidden or not offered.
	Resources  int      `json:"resources"`
	Unreadable []string `json:"unreadable,omitempty"`
	// Silent are the kinds with objects that show nothing of their state, as Kind.group, sorted.
	Silent []string `json:"silent,omitempty"`
	// Lag is the delay of the slowest watch.
	Lag Seconds `json:"lag,omitempty"`
}

// Relation is the use of one relation of the configuration since the start of the server.
type Relation struct {
	Name string `json:"name"`
	// From and To are kinds, as Deployment.apps.
	From string `json:"from"`
	To   string `json:"to"`
	// Matches is the number of pairs of objects found related. A pair counts again after a change of
	// a key.
	Matches int64 `json:"matches"`
	// Causes and Effects are the observed versions of objects of the kinds From and To.
	Causes  RelationKeys `json:"causes"`
	Effects RelationKeys `json:"effects"`
}

// RelationKeys are numbers of observed versions: with a key, and without one.
type RelationKeys struct {
	Keyed   int64 `json:"keyed"`
	Keyless int64 `json:"keyless"`
}

// Receives has the addresses for other components' data; empty without one.
type Receives struct {
	GRPC         string `json:"grpc,omitempty"`
	HTTP         string `json:"http,omitempty"`
	AuditWebhook string `json:"auditWebhook,omitempty"`
	// AuditLog is the followed file. AuditLogMissing is true if the file does not exist.
	AuditLog        string `json:"auditLog,omitempty"`
	AuditLogMissing bool   `json:"auditLogMissing,omitempty"`
	// Refused counts the requests, and Damaged the events and lines, of the audit log that could
	// not be read.
	Refused int64 `json:"auditRefused,omitempty"`
	Damaged int64 `json:"auditDamaged,omitempty"`
}

// Joining counts received spans; the fields are those of stitch.Stats.
type Joining struct {
	Received  int64 `json:"received"`
	Noise     int64 `json:"noise"`
	Joined    int64 `json:"joined"`
	Late      int64 `json:"late"`
	Passed    int64 `json:"passed"`
	Expired   int64 `json:"expired"`
	Evicted   int64 `json:"evicted"`
	Surplus   int64 `json:"surplus"`
	Overdue   int64 `json:"overdue"`
	Untimely  int64 `json:"untimely"`
	Corrected int64 `json:"corrected"`
	Buffered  int64 `json:"buffered"`
}

// about answers about the server.
type about struct {
	newInfo    func() Info
	newSources func() Sources
}

func (a *about) info(r *request) (any, error) {
	if err := r.params.done(); err != nil {
		return nil, err
	}
	stats, err := r.access.Stats(r.ctx())
	if err != nil {
		return nil, err
	}
	info := a.newInfo()
	info.Stats = statsOf(stats)
	info.Visible = r.access.Namespaces()
	if !r.access.All() {
		info.Identity = "" // the name of a Pod
		info.Namespaces = slices.DeleteFunc(slices.Clone(info.Namespaces), func(namespace string) bool {
			return !r.access.Permits(object.Ref{Namespace: namespace})
		})
	}
	return info, nil
}

func (a *about) sources(r *request) (any, error) {
	if err := r.params.done(); err != nil {
		return nil, err
	}
	if a.newSources == nil {
		return nil, problem(http.StatusNotFound, "this server does not report its sources")
	}
	if !r.access.All() {
		return nil, problem(
			http.StatusForbidden,
			"the sources concern the whole cluster, and you may read a part of it",
		)
	}
	return a.newSources(), nil
}
