// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// WebhookOnly is an override that leaves of a configuration what RunWebhook uses:
// what the rest says need not even fit.
func WebhookOnly(c *config.ServerConfiguration) {
	said := *c
	*c = *config.Default()
	c.APIVersion, c.Kind = said.APIVersion, said.Kind
	c.Webhook, c.Telemetry, c.Log, c.Sampling = said.Webhook, said.Telemetry, said.Log, said.Sampling
	c.API.Address = "127.0.0.1:0" // is not opened, and must differ from the others
}

// RunWebhook answers the API server's admission calls until ctx ends, and does
// nothing else: it has no store and no connection to the cluster. Which
// reconciliations are open it knows only of what it has itself admitted just now,
// so any number of them may run without knowing of each other. The options'
// configuration is one that WebhookOnly was applied to; Connect and Namespace are
// not used.
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
	c := s.conf.Load()
	ln, err := bind(ctx, "telemetry.address", c.Telemetry.Address)
	if err != nil {
		return err
	}
	defer ln.Close()
	s.log.Info("lifeline webhook serve starts", "version", s.opts.Version, "telemetry", ln.Addr().String())
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	up := newTasks(ctx, s.fail)
	defer up.end()
	s.tell(up, ln)
	if err := s.admit(up); err != nil {
		return err
	}
	up.start("configuration", s.followConfig)
	<-ctx.Done()
	s.log.Info("lifeline webhook serve stops: calls under way are answered")
	return over(ctx, nil)
}
