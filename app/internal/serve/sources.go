// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
)

// sources returns the state of the sources that have started.
func (s *server) sources() api.Sources {
	out := api.Sources{
		Received:      s.received.Summary(s.clock.Now()),
		Receives:      s.receives(),
		Configuration: shownConfig(s.conf.Load()),
		Relations:     s.relations(),
	}
	if s.running.Load() {
		out.Watch = s.watched()
	}
	if j := s.joined.Load(); j != nil {
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
func (s *server) watched() api.WatchSource {
	st := s.watcher.Stats()
	out := api.WatchSource{Lag: api.Seconds(st.Lag)}
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

// relations returns the use of the relations of the configuration.
func (s *server) relations() []api.Relation {
	matches := map[string]uint64{}
	if known := s.related.Load(); known != nil {
		matches = *known
	}
	keys := func(c relation.Counts) api.RelationKeys {
		return api.RelationKeys{Keyed: int64(c.Keyed), Keyless: int64(c.Keyless)} //nolint:gosec // counts
	}
	var out []api.Relation
	for _, of := range s.declared.Stats() {
		out = append(out, api.Relation{
			Name: of.Name, From: of.From.String(), To: of.To.String(),
			Matches: int64(matches[of.Name]), //nolint:gosec // a count
			Causes:  keys(of.Causes), Effects: keys(of.Effects),
		})
	}
	return out
}

// receives returns the receivers of other components' data.
func (s *server) receives() api.Receives {
	var out api.Receives
	if r := s.receiver.Load(); r != nil {
		out.GRPC, out.HTTP = addressOf(r.GRPCAddr()), addressOf(r.HTTPAddr())
	}
	a := s.auditing.Load()
	if a == nil {
		return out
	}
	out.AuditLog, out.AuditWebhook = s.conf.Load().Receivers.Audit.LogFile, addressOf(a.address)
	for _, source := range []*audit.Source{a.file, a.webhook} {
		if source == nil {
			continue
		}
		st := source.Stats()
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
	if c.Notices.URL != "" {
		shown.Notices.URL = notice.Redacted(c.Notices.URL)
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
