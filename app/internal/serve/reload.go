// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// Results of a reload, as the metric's labels.
const (
	reloaded = "taken"
	refused  = "refused"
)

// followConfig applies changes of the configuration file, until ctx ends.
func (s *server) followConfig(ctx context.Context) error {
	if s.opts.File == "" {
		<-ctx.Done()
		return nil
	}
	r := &config.Reloader{
		Path: s.opts.File, Current: s.conf.Load(), Overrides: s.opts.Overrides, Apply: s.reload,
		Report: func(err error) {
			s.metrics.ConfigReloads.Inc(refused)
			s.log.Error(err.Error())
		},
	}
	asking, stop := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-s.opts.Reload:
				r.Reload()
			case <-asking.Done():
				return
			}
		}
	}()
	r.Run(ctx)
	stop()
	<-asked
	return nil
}

// reload applies a configuration that differs in the named fields.
func (s *server) reload(c *config.ServerConfiguration, fields []string) error {
	level, err := telemetry.ParseLevel(c.Log.Level)
	if err != nil {
		return err
	}
	s.conf.Store(c)
	s.level.Set(level)
	if s.outbox != nil {
		s.outbox.SetLimits(c.OTLP.Outbox.MaxSpans, c.OTLP.Outbox.MaxAge.Duration)
	}
	s.metrics.ConfigReloads.Inc(reloaded)
	s.log.LogAttrs(
		context.Background(),
		slog.LevelInfo,
		"configuration taken over",
		slog.String("changed", strings.Join(fields, ", ")),
	)
	return nil
}
