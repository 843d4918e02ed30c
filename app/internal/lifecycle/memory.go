// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// memory is what is remembered of handed-out traces and forgotten versions.
type memory struct {
	// taken are the traces that Take has handed out.
	taken map[trace.TraceID]change.Taken
	// series are the series of changes of each object, and contests the recent updates of its fields.
	series   map[types.UID]*change.SeriesList
	contests map[types.UID]*change.Contests
	// fates counts the stored writes.
	fates WriteStats
	// compacted is the time of the last compaction of all groups.
	compacted time.Time
}

func newMemory() *memory {
	return &memory{
		taken:    map[trace.TraceID]change.Taken{},
		series:   map[types.UID]*change.SeriesList{},
		contests: map[types.UID]*change.Contests{},
	}
}
