// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestLimits: each outcome of the configuration is one of package span.
func TestLimits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := config.Default().Retention
	want := store.Limits{
		Before: now.Add(-7 * 24 * time.Hour), Bytes: 10 << 30, Rollups: now.Add(-400 * 24 * time.Hour),
	}
	if diff := cmp.Diff(want, limitsOf(&c, now)); diff != "" {
		t.Errorf("by default: -want +got:\n%s", diff)
	}
	if got := earliest(want); !got.Equal(want.Before) {
		t.Errorf("the earliest is %s", got)
	}
	hours := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Hour} }
	c.Outcomes = config.RetentionOutcomesConfiguration{
		Converged: hours(1), Superseded: hours(2), Deleted: hours(3), Failed: hours(1000), Unfinished: hours(5),
	}
	want.Outcomes = map[span.Outcome]time.Time{
		span.Converged: now.Add(-time.Hour), span.Superseded: now.Add(-2 * time.Hour),
		span.Deleted: now.Add(-3 * time.Hour), span.Failed: now.Add(-1000 * time.Hour),
		span.Unfinished: now.Add(-5 * time.Hour), span.Refused: now.Add(-1000 * time.Hour), // as a failed one
	}
	if diff := cmp.Diff(want, limitsOf(&c, now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := earliest(want); !got.Equal(want.Outcomes[span.Failed]) {
		t.Errorf("the earliest is %s", got)
	}
}
