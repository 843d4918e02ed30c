// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// Results of a reload, as the metric's labels.
const (
	reloaded = "taken"
	refused  = "refused"
)

// settings are the configuration in effect, and its file.
type settings struct {
	atomic.Pointer[config.ServerConfiguration]

	// file is empty without a file.
	file      string
	overrides []config.Override
	// reload requests a reading; may be nil.
	reload  <-chan os.Signal
	level   *slog.LevelVar
	log     *slog.Logger
	reloads *prometheus.CounterVec
}

func newSettings(o Options, log *slog.Logger, level *slog.LevelVar, r prometheus.Registerer) *settings {
	s := &settings{
		file: o.File, overrides: o.Overrides, reload: o.Reload, level: level, log: log, reloads: newReloadMetric(r),
	}
	s.Store(o.Config)
	return s
}

// sampling returns the sampling in effect.
func (s *settings) sampling() sampling {
	c := s.Load().Sampling
	return sampling{ratePerMillion: c.RatePerMillion, failed: c.KeepFailed, slower: c.KeepSlowerThan.Duration}
}

// follow applies changes of the file until ctx ends. changed gets each new configuration; it may be nil.
func (s *settings) follow(ctx context.Context, changed func(*config.ServerConfiguration)) error {
	if s.file == "" {
		<-ctx.Done()
		return nil
	}
	r := &config.Reloader{
		Path: s.file, Current: s.Load(), Overrides: s.overrides,
		Apply: func(c *config.ServerConfiguration, fields []string) error { return s.apply(c, fields, changed) },
		Report: func(err error) {
			s.reloads.WithLabelValues(refused).Inc()
			s.log.Error(err.Error())
		},
	}
	var asking background
	asking.begin(ctx, func(ctx context.Context) {
		for {
			select {
			case <-s.reload:
				r.Reload()
			case <-ctx.Done():
				return
			}
		}
	})
	defer asking.end()
	r.Run(ctx)
	return nil
}

// apply takes over a configuration that differs in the named fields.
func (s *settings) apply(
	c *config.ServerConfiguration, fields []string, changed func(*config.ServerConfiguration),
) error {
	level, err := telemetry.ParseLevel(c.Log.Level)
	if err != nil {
		return err
	}
	s.Store(c)
	s.level.Set(level)
	if changed != nil {
		changed(c)
	}
	s.reloads.WithLabelValues(reloaded).Inc()
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "configuration taken over",
		slog.String("changed", strings.Join(fields, ", ")))
	return nil
}
