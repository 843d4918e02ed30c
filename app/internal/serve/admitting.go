// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/certificate"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/serving"
)

// newWebhook returns the server of the API server's admission calls; nil without a webhook in the
// configuration.
func (s *server) newWebhook() *serving.Server {
	if s.conf.Load().Webhook.Endpoint.Address == "" {
		return nil
	}
	return serving.New(serving.Options{
		Config: func() config.WebhookConfiguration { return s.conf.Load().Webhook },
		Sample: func(id trace.TraceID) bool { return s.sampling().byRatio(id) },
		Open: func(namespace string, uid types.UID) (trace.SpanContext, bool) {
			return s.opened.of(namespace, uid, time.Now())
		},

		Metrics: s.metrics, Log: s.log,
	})
}

// admit starts to answer admission calls. It is among the first parts to start and the last to
// stop. So every write is answered, whatever the server's state and leadership.
func (s *server) admit(up *tasks) error {
	if s.webhook == nil {
		return nil
	}
	at := endpoint(s.conf.Load().Webhook.Endpoint)
	if s.conf.Load().Webhook.Certificate.Managed {
		k, err := s.newKeeper()
		if err != nil {
			return err
		}
		at.Certificate = k.GetCertificate
		up.start("certificate", k.Run)
	}
	ln, err := s.webhook.Listen(up.ctx, at)
	if err != nil {
		return fmt.Errorf("%w (webhook.endpoint)", err)
	}
	s.log.Info("admission reviews are answered", "address", ln.Addr().String())
	up.start("webhook", func(ctx context.Context) error { return s.webhook.Serve(ctx, ln) })
	return nil
}

// newKeeper returns the keeper of the webhook's certificate. Before the cluster is reached there is
// none and handshakes fail; the API server then continues without the webhook.
func (s *server) newKeeper() (*certificate.Keeper, error) {
	if s.opts.Connect == nil {
		return nil, errors.New(
			"there is no connection to the cluster to keep a certificate in: leave out " +
				"webhook.certificate.managed, and set webhook.endpoint.tls",
		)
	}
	conf, err := s.connect()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for the webhook's certificate: %w", err)
	}
	c := s.conf.Load().Webhook.Certificate
	names := c.Names
	if len(names) == 0 {
		names = []string{registration.DefaultService + "." + s.namespace() + ".svc"}
	}
	return certificate.New(certificate.Options{
		Client:        client,
		Namespace:     s.namespace(),
		Secret:        c.Name,
		Configuration: c.Configuration,
		Names:         names,
		Log:           s.log,
	})
}

// publishOpen returns recorderOptions.Opened; nil without a webhook.
func (s *server) publishOpen() func(iter.Seq2[object.Ref, trace.SpanContext], []*span.Trace) {
	if s.webhook == nil {
		return nil
	}
	return func(open iter.Seq2[object.Ref, trace.SpanContext], traces []*span.Trace) {
		s.opened.publish(open, traces, s.sampling(), time.Now())
	}
}

func (s *server) refreshAdmitter() {
	if s.webhook != nil {
		s.webhook.Refresh()
	}
}
