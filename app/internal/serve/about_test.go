// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestShownConfig(t *testing.T) {
	for name, tc := range map[string]struct{ reason, endpoint, want string }{
		"None":     {"nothing is sent", "", `"endpoint":""`},
		"Plain":    {"it is no secret", "http://collector:4318", `"endpoint":"http://collector:4318"`},
		"HostPort": {"a scheme is not needed", "collector:4317", `"endpoint":"collector:4317"`},
		"Address":  {"an address is no URL", "127.0.0.1:4317", `"endpoint":"127.0.0.1:4317"`},
		"NoScheme": {"a password without a scheme", "alice:hunter2@collector:4317", `"endpoint":"…"`},
		"Password": {
			"readers of the API must not see it",
			"https://alice:hunter2@collector",
			`"endpoint":"https://collector"`,
		},
		"Token": {
			"some put it into the query",
			"https://collector/v1?token=hunter2",
			`"endpoint":"https://collector/v1"`,
		},
		"Strange": {"what cannot be read may hold anything", "https://alice:hunter2@%zz", `"endpoint":"…"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.OTLP.Endpoint = tc.endpoint
			c.Notices.Receivers = []config.NoticeReceiverConfiguration{{URL: "https://hooks.example/hunter2"}}
			got := string(shownConfig(c))
			if !strings.Contains(got, tc.want) || strings.Contains(got, "hunter2") {
				t.Errorf("%s: got %s, want %s in it", tc.reason, got, tc.want)
			}
			if c.OTLP.Endpoint != tc.endpoint {
				t.Errorf("the configuration itself was changed to %q", c.OTLP.Endpoint)
			}
			if c.Notices.Receivers[0].URL != "https://hooks.example/hunter2" {
				t.Errorf("the configuration itself was changed to %q", c.Notices.Receivers[0].URL)
			}
		})
	}
}

// TestSourcesCounted: received and joined data are counted.
func TestSourcesCounted(t *testing.T) {
	j := newJoined(t)
	l := loopOver(j.recorder)
	must(t, l.Start(t.Context()))

	now := time.Now()
	if err := l.in.Accept(t.Context(), []*span.Span{foreign(1, trace.SpanID{}, "syncPod", now, now)}); err != nil {
		t.Error(err)
	}
	write := &observation.Write{Resource: "configmaps", Verb: "update", Code: 409, AuditID: "a", Start: now, End: now}
	if err := l.in.takeIn(
		t.Context(),
		[]*observation.Observation{{Seen: now, Source: observation.SourceAudit, Write: write}},
	); err != nil {
		t.Error(err)
	}
	must(t, l.Stop())
	a := &about{
		settings: &settings{}, received: l.Received, joined: &joinedCounts{}, relations: &relations{}, now: time.Now,
		watches: zero[watch.Stats], receiving: &receiving{}, auditing: &auditing{},
	}
	a.settings.Store(config.Default())
	got := a.sources()
	if n := got.Received.Component(received.Kubelet).Spans; n != 1 {
		t.Errorf("%d spans of the kubelet were counted, want one", n)
	}
	if n := got.Received.Audit.Writes; n != 1 {
		t.Errorf("%d writes of the audit log were counted, want one", n)
	}
	if got.Watch.Watching || got.Joining != nil || got.Receives.GRPC != "" {
		t.Errorf("an absent source is reported: %+v", got)
	}
}
