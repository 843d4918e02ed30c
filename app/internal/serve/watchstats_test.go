// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func TestOutage(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	type resources = []watch.ResourceStats
	tests := map[string]struct {
		reason string
		stats  resources
		heard  time.Time
		want   time.Duration
	}{
		"nothing yet": {"nothing is watched", nil, time.Time{}, 0},
		"all there": {
			"the API server answers",
			resources{{Streams: 1, Connected: 1}, {Streams: 1, Connected: 1}},
			time.Time{},
			0,
		},
		"one is away": {
			"another one shows that the API server answers",
			resources{{Streams: 1, Behind: ago(time.Hour)}, {Streams: 1, Connected: 1}},
			time.Time{},
			0,
		},
		"all are away": {
			"the outage began with the last of them",
			resources{{Streams: 1, Behind: ago(time.Hour)}, {Streams: 1, Behind: ago(time.Minute)}},
			time.Time{},
			time.Minute,
		},
		"some forbidden": {
			"a forbidden resource counts for nothing",
			resources{{Streams: 1, Unreadable: 1}, {Streams: 1, Behind: ago(time.Minute)}},
			time.Time{},
			time.Minute,
		},
		"all forbidden": {"that is another trouble", resources{{Streams: 1, Unreadable: 1}}, time.Time{}, 0},
		"clock": {
			"a clock that was set back makes no time",
			resources{{Streams: 1, Behind: ago(-time.Minute)}},
			time.Time{},
			0,
		},
		"idle": {
			"no watch brings anything, and the last probe was answered",
			resources{{Streams: 1, Connected: 1}},
			ago(4 * time.Second),
			4 * time.Second,
		},
		"hung": {
			"the watches are connected, and no probe is answered",
			resources{{Streams: 1, Connected: 1}},
			ago(time.Minute),
			time.Minute,
		},
		"hung, then cut": {
			"the outage began with the silence",
			resources{{Streams: 1, Behind: ago(time.Second)}},
			ago(46 * time.Second),
			46 * time.Second,
		},
		"refusing": {
			"an answer without data counts for nothing",
			resources{{Streams: 1, Behind: ago(time.Minute)}},
			ago(time.Second),
			time.Minute,
		},
		"hung, no right": {
			"no right to watch: another problem",
			resources{{Streams: 1, Unreadable: 1}},
			ago(time.Minute),
			0,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outage(watch.Stats{Resources: tt.stats, Heard: tt.heard}, now); got != tt.want {
				t.Errorf("outage for %s, want %s: %s", got, tt.want, tt.reason)
			}
		})
	}
}

func TestUndelivered(t *testing.T) {
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := then.Add(time.Minute)
	refused := errors.New("connection refused")
	tests := map[string]struct {
		reason string
		stats  export.OutboxStats
		want   string
	}{
		"nothing to do": {"nothing is wrong", export.OutboxStats{}, ""},
		"waiting": {
			"waiting spans are no problem",
			export.OutboxStats{Spans: 3, LastSuccess: then},
			"",
		},
		"well again": {
			"the last attempt went well",
			export.OutboxStats{Spans: 3, LastError: refused, LastFailure: then, LastSuccess: later},
			"",
		},
		"held": {
			"another server sends",
			export.OutboxStats{Spans: 3, Holding: true, LastError: refused, LastFailure: then},
			"",
		},
		"all sent": {
			"some were refused, and none waits",
			export.OutboxStats{LastError: refused, LastFailure: then},
			"",
		},
		"down": {
			"the last success is reported",
			export.OutboxStats{
				Endpoint:    "otel:4317",
				Spans:       3,
				LastError:   refused,
				LastFailure: later,
				LastSuccess: then,
			},
			"3 spans wait for otel:4317, which last accepted some at 2026-01-02T03:04:05Z: connection refused",
		},
		"down from then": {
			"it never was there",
			export.OutboxStats{Endpoint: "otel:4317", Spans: 3, LastError: refused, LastFailure: later},
			"3 spans wait for otel:4317, which has accepted none yet: connection refused",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := undelivered(tt.stats); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q: %s", got, tt.want, tt.reason)
			}
		})
	}
}

func TestBlind(t *testing.T) {
	type resources = []watch.ResourceStats
	tests := map[string]struct {
		reason string
		stats  resources
		want   bool
	}{
		"nothing yet":  {"before the first statistics", nil, false},
		"ended":        {"what nothing watches any more does not count", resources{{}}, false},
		"one of two":   {"little is better than nothing", resources{{Streams: 2, Unreadable: 2}, {Streams: 1}}, false},
		"some streams": {"some namespaces may be read", resources{{Streams: 2, Unreadable: 1}}, false},
		"none": {
			"there is nothing to see",
			resources{{Streams: 2, Unreadable: 2}, {Streams: 1, Unreadable: 1}, {}},
			true,
		},
		"what each account sees": {
			"the same without a right", resources{{Resource: public, Streams: 1}, {Streams: 1, Unreadable: 1}}, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := blind(watch.Stats{Resources: tt.stats}); got != tt.want {
				t.Errorf("blind is %t, want %t: %s", got, tt.want, tt.reason)
			}
		})
	}
}
