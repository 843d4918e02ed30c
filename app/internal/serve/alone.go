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
// connection to the cluster. Its only open reconciliations are those of its own recent admissions,
// so any number of instances may run independently. WebhookOnly must have been applied to the
// configuration in the options. Connect and Namespace are unused.
func RunWebhook(ctx context.Context, o Options) error {
	s, err := newBase(o)
	if err != nil {
		return err
	}
	if s.webhook == nil {
		return errors.New(
			"there is no address on which the API server could call: set webhook.endpoint.address in the " +
				"configuration file, or --address",
		)
	}
	s.opts.Connect = nil
	ln, err := s.listenTelemetry(ctx)
	if err != nil {
		return err
	}
	defer ln.Close()
	s.log.Info("lifeline webhook serve starts", "version", s.opts.Version, "telemetry", ln.Addr().String())
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	up := newTasks(ctx, s.fail)
	defer up.end()
	s.serveTelemetry(up, ln)
	if err := s.admit(up); err != nil {
		return err
	}
	up.start("configuration", s.followConfig)
	<-ctx.Done()
	s.log.Info("lifeline webhook serve stops after the running calls")
	return over(ctx, nil)
}
