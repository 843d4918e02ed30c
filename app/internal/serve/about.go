// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// about describes the server to readers of the API.
type about struct {
	version, cluster string
	settings         *settings
	progress         *progress
	watch            *readiness
	received         *received.Tally
	joined           *joinedCounts
	relations        *relations
	now              func() time.Time
	watches          func() watch.Stats
	member           *member
	receiving        *receiving
	auditing         *auditing
	slower           func() *shift.Report
}

// info returns the identity and the role of the server.
func (a *about) info() api.Info {
	i := api.Info{
		Version:  a.version,
		Cluster:  a.cluster,
		Identity: a.member.Identity,
		Mode:     a.settings.Load().Replicas.Mode,
		Leading:  a.member.leads(),
		AsOf:     a.progress.stored(),

		Namespaces: a.settings.Load().Watch.Namespaces,
	}
	i.Retention = api.Seconds(a.settings.Load().Retention.Longest())
	if since := a.watch.listed(); !since.IsZero() {
		since = since.UTC()
		i.WatchingSince = &since
	}
	return i
}

// sources returns the state of the sources.
func (a *about) sources() api.Sources {
	out := api.Sources{
		Received:      a.received.Summary(a.now()),
		Receives:      a.receives(),
		Configuration: shownConfig(a.settings.Load()),
		Relations:     a.relations.list(),
		Watch:         watched(a.watches()),
	}
	if j := a.joined.Load(); j != nil {
		out.Joining = &api.Joining{
			Received:  j.Received,
			Noise:     j.Noise,
			Joined:    j.Joined,
			Late:      j.Late,
			Passed:    j.Passed,
			Expired:   j.Expired,
			Evicted:   j.Evicted,
			Surplus:   j.Surplus,
			Overdue:   j.Overdue,
			Untimely:  j.Untimely,
			Corrected: j.Corrected,
			Buffered:  int64(j.Buffered),
		}
	}
	return out
}

// watched returns the state of the watches.
func watched(st watch.Stats) api.WatchSource {
	out := api.WatchSource{Lag: api.Seconds(st.Lag), Silent: st.Silent}
	for _, r := range st.Resources {
		if r.Streams == 0 {
			continue
		}
		out.Watching = true
		out.Resources++
		if r.Unreadable == r.Streams {
			out.Unreadable = append(out.Unreadable, r.Resource.String())
		}
	}
	return out
}

// receives returns the receivers of other components' data.
func (a *about) receives() api.Receives {
	var out api.Receives
	overGRPC, overHTTP := a.receiving.addresses()
	out.GRPC, out.HTTP = addressOf(overGRPC), addressOf(overHTTP)
	out.AuditLog, out.AuditWebhook = a.auditing.conf.LogFile, addressOf(a.auditing.address)
	for _, st := range a.auditing.stats() {
		out.AuditLogMissing = out.AuditLogMissing || st.Missing
		out.Damaged += int64(st.Damaged + st.Overlong) //nolint:gosec // a count
		for _, n := range st.Refused {
			out.Refused += int64(n) //nolint:gosec // a count
		}
	}
	return out
}

func addressOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// shownConfig is the public part of the configuration.
func shownConfig(c *config.ServerConfiguration) json.RawMessage {
	shown := *c
	shown.OTLP.Endpoint = shownEndpoint(c.OTLP.Endpoint)
	shown.Notices.Receivers = slices.Clone(c.Notices.Receivers)
	for i := range shown.Notices.Receivers {
		if r := &shown.Notices.Receivers[i]; r.URL != "" {
			r.URL = notice.Redacted(r.URL)
		}
	}
	text, err := json.Marshal(&shown)
	if err != nil {
		return nil // impossible for a configuration
	}
	return text
}

// shownEndpoint is an endpoint without a user name, password and parameters.
func shownEndpoint(endpoint string) string {
	if !strings.ContainsAny(endpoint, "@?") {
		return endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return "…"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
