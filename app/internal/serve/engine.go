// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
)

func (s *server) recorderOptions() recorderOptions {
	c := s.conf.Load()
	settle := c.Engine.Settle.Duration
	if receives(c) {
		settle = max(settle, joinSettle)
	}
	return recorderOptions{
		Engine:    lifecycle.Options{Cluster: s.cluster, Settle: settle, Patience: c.Engine.Patience.Duration},
		Relations: s.declared,
		Sampling:  s.sampling,
		Waits:     s.waits,
		Sends:     s.sends,
		Counts:    &s.counts,
		Tells:     s.tells,
		Opened:    s.publishOpen(),
		Stored:    s.stored,
		Differs:   s.differs,
		Warn:      s.log.Warn,
	}
}

// differs reports open traces that differ from a derivation from nothing.
func (s *server) differs(ids []trace.TraceID) {
	s.metrics.EngineDifferences.Add(float64(len(ids)))
	if len(ids) > 0 {
		s.log.Error("open traces differ from those of a derivation from nothing; please report this",
			"traces", len(ids), "first", ids[0].String())
	}
}

// waits reports whether a look waits for watches that are behind.
func (s *server) waits() bool { return s.behind.check(s.watcher.Stats(), len(s.loop.in), time.Now()) }

func (s *server) sampling() sampling {
	c := s.conf.Load().Sampling
	return sampling{ratePerMillion: c.RatePerMillion, failed: c.KeepFailed, slower: c.KeepSlowerThan.Duration}
}
