// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// TestView reads a lifecycle through the view.
func TestView(t *testing.T) {
	e := &engine{db: open(t)}
	e.Store(t, []*question.Lifecycle{{
		Trace: trace.TraceID{0x4b, 15: 1}, Outcome: "converged",
		Object: object.Ref{Kind: object.Kind{Kind: "Pod"}, Namespace: "shop", Name: "web-1"},
		Start:  time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC), Duration: 1500 * time.Millisecond,
		Phases: map[string]time.Duration{"pull": 2 * time.Second},
		Values: map[string]any{
			"images": []string{"nginx:1.29", "it's"}, "labels": map[string]string{"app": "web"}, "volumes": int64(3),
		},
	}})
	view, columns := sqlite.View()
	execute(t, e.db, "CREATE TEMP VIEW v AS "+view)
	fields := slices.DeleteFunc(question.Fields(), func(f question.Field) bool { return f.Table == question.Steps })
	if len(columns) != len(fields)+3 { // span, start_ns and end_ns
		t.Errorf("%d columns of %d fields", len(columns), len(fields))
	}
	for column, want := range map[string]any{
		"kind": "Pod", "namespace": "shop", "start": "2026-03-01T12:00:00.250Z", "start_ns": int64(1772366400250000000),
		"end": "2026-03-01T12:00:01.750Z", "end_ns": int64(1772366401750000000),
		"duration": 1.5, "phase_pull": 2.0, "phase_startup": nil, "volumes": int64(3), "labels": `{"app":"web"}`,
		"images": `["it's","nginx:1.29"]`, "trace": "4b000000000000000000000000000001", "span": "00",
	} {
		var got any
		query(t, e.db, `SELECT "`+column+`" FROM v`, nil, func(scan func(...any) error) error { return scan(&got) })
		if got != want {
			t.Errorf("%s: %v (%T), want %v", column, got, got, want)
		}
	}
}
