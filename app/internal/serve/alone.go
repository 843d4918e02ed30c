// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// WebhookOnly is an override that keeps only the configuration for RunWebhook. The rest may then be
// invalid.
func WebhookOnly(c *config.ServerConfiguration) {
	full := *c
	*c = *config.Default()
	c.APIVersion, c.Kind = full.APIVersion, full.Kind
	c.Webhook, c.Telemetry, c.Log, c.Sampling = full.Webhook, full.Telemetry, full.Log, full.Sampling
	c.API.Address = "127.0.0.1:0" // stays closed, and must differ from the others
}

// RunWebhook answers the API server's admission calls until ctx ends. It has no store and no
// connection to the cluster. It knows only its own recent admissions. So any number of instances may
// run independently. WebhookOnly must have been applied to the
// configuration in the options. Connect and Namespace are unused.
func RunWebhook(ctx context.Context, o Options) (err error) {
	o.Connect = nil
	b, err := newBase(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(err error) { cancel(err) }
	admitting := newAdmitting(b.settings, b.cluster, b.registry, b.log, fail)
	if !admitting.configured() {
		return errors.New(
			"there is no address on which the API server could call: set webhook.endpoint.address in the " +
				"configuration file, or --address",
		)
	}
	var up parts
	defer func() { err = errors.Join(err, up.stop()) }()
	scrapers := newTelemetryListener(b.settings.Load().Telemetry, b.registry, b.health, b.log, fail)
	if err := up.start(ctx, scrapers); err != nil {
		return err
	}
	b.log.Info("lifeline webhook serve starts", "version", b.version, "telemetry", scrapers.address.String())
	follow := func(ctx context.Context) error { return b.settings.follow(ctx, nil) }
	if err := up.start(ctx, admitting, &task{name: "configuration", run: follow, fail: fail}); err != nil {
		return err
	}
	<-ctx.Done()
	b.log.Info("lifeline webhook serve stops after the running calls")
	return over(ctx, nil)
}
