// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// sendPatience bounds the last sending of spans.
const sendPatience = 10 * time.Second

// delivery is the part that sends spans to the backend: the entries of the log, and the spans of
// other components without a change.
type delivery struct {
	options export.OutboxOptions
	// passes requests the sending of spans without a change.
	passes bool
	log    *slog.Logger

	// outbox and passing exist from Start on; passing is nil if nothing is passed.
	outbox  *export.Outbox
	passing *export.Exporter
}

// newDelivery returns a delivery from a log. A server that may not lead holds the entries until it
// leads.
func newDelivery(
	c *config.ServerConfiguration, cluster string, from export.Log, now func() time.Time, log *slog.Logger,
) *delivery {
	return &delivery{
		options: export.OutboxOptions{
			Options: export.Options{
				Endpoint: c.OTLP.Endpoint, Setting: "otlp.endpoint", Cluster: cluster,
				Text: c.OTLP.Mode() != mask.Strict,
				Warn: func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) },
			},
			Log:      from,
			MaxSpans: c.OTLP.Outbox.MaxSpans, MaxAge: c.OTLP.Outbox.MaxAge.Duration,
			Hold: c.Replicas.Mode != config.ModeSingle,
			Now:  now,
		},
		passes: passes(c),
		log:    log,
	}
}

// Start implements part.
func (d *delivery) Start(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	if d.passes {
		if d.passing, err = export.New(ctx, d.options.Options); err != nil {
			return err
		}
	}
	if d.outbox, err = export.OpenOutbox(ctx, d.options); err != nil {
		_ = d.passing.Close(ctx)
		return err
	}
	if to := d.outbox.Endpoint(); to != "" {
		d.log.Info("spans go out", "to", to, "waiting", d.outbox.Stats().Spans)
	}
	return nil
}

// Stop implements part. It sends as much as possible; the rest waits in the log. Spans without a
// change are not stored: their loss is logged, and is no error.
func (d *delivery) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendPatience)
	defer cancel()
	err := d.outbox.Close(ctx)
	if lost := d.passing.Close(ctx); lost != nil {
		d.log.Warn("some spans that belong to no change were not sent", errAttr(lost))
	}
	if left := d.outbox.Stats().Spans; left > 0 {
		d.log.Warn("spans that were not sent wait in the journal for the next start", "spans", left)
	}
	return err
}

// pass sends spans without a change. They are sent at most once, since they are not stored.
func (d *delivery) pass(traces []*span.Trace) { d.passing.Export(traces) }

// reconfigure takes over the limits of a configuration.
func (d *delivery) reconfigure(c *config.ServerConfiguration) {
	d.outbox.SetLimits(c.OTLP.Outbox.MaxSpans, c.OTLP.Outbox.MaxAge.Duration)
}

// undelivered returns the backend's error and its last success, if spans wait and the last attempt
// failed. It is a note of health: the server stays ready, since its stored traces are readable, and
// another server would be no better.
func undelivered(o export.OutboxStats) error {
	if o.Holding || o.Spans == 0 || o.LastError == nil || !o.LastFailure.After(o.LastSuccess) {
		return nil
	}
	accepted := "has accepted none yet"
	if !o.LastSuccess.IsZero() {
		accepted = "last accepted some at " + o.LastSuccess.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("%d spans wait for %s, which %s: %w", o.Spans, o.Endpoint, accepted, o.LastError)
}
