// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// admitting is the part that answers the API server's admission calls. Without a webhook in the
// configuration it does nothing.
type admitting struct {
	conf    config.WebhookConfiguration
	cluster *connector
	log     *slog.Logger
	fail    func(error)

	webhook *serving.Server
	// opened is the webhook's view of the loop.
	opened   opened
	sampling func() sampling
	parts    parts
}

func newAdmitting(
	s *settings, cluster *connector, r prometheus.Registerer, log *slog.Logger, fail func(error),
) *admitting {
	a := &admitting{conf: s.Load().Webhook, cluster: cluster, log: log, fail: fail, sampling: s.sampling}
	a.webhook = serving.New(serving.Options{
		Config: func() config.WebhookConfiguration { return s.Load().Webhook },
		Sample: func(id trace.TraceID) bool { return s.sampling().byRatio(id) },
		Open: func(namespace string, uid types.UID) (trace.SpanContext, bool) {
			return a.opened.of(namespace, uid, time.Now())
		},
		Registerer: r, Log: log,
	})
	return a
}

// configured reports whether there is a webhook in the configuration.
func (a *admitting) configured() bool { return a.conf.Endpoint.Address != "" }

// Start implements part.
func (a *admitting) Start(ctx context.Context) (err error) {
	if !a.configured() {
		return nil
	}
	at := endpoint(a.conf.Endpoint)
	if a.conf.Certificate.Managed {
		k, err := a.newKeeper()
		if err != nil {
			return err
		}
		at.Certificate = k.GetCertificate
		if err := a.parts.start(ctx, &task{name: "certificate", run: k.Run, fail: a.fail}); err != nil {
			return err
		}
	}
	var ln net.Listener
	if ln, err = a.webhook.Listen(context.WithoutCancel(ctx), at); err != nil {
		_ = a.parts.stop()
		return fmt.Errorf("%w (webhook.endpoint)", err)
	}
	a.log.Info("admission reviews are answered", "address", ln.Addr().String())
	serve := func(ctx context.Context) error { return a.webhook.Serve(ctx, ln) }
	return a.parts.start(ctx, &task{name: "webhook", run: serve, fail: a.fail})
}

// Stop implements part.
func (a *admitting) Stop() error { return a.parts.stop() }

// newKeeper returns the keeper of the webhook's certificate. Before the cluster is reached there is
// none and handshakes fail; the API server then continues without the webhook.
func (a *admitting) newKeeper() (*certificate.Keeper, error) {
	if a.cluster.reach == nil {
		return nil, errors.New(
			"there is no connection to the cluster to keep a certificate in: leave out " +
				"webhook.certificate.managed, and set webhook.endpoint.tls",
		)
	}
	conf, err := a.cluster.connect()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for the webhook's certificate: %w", err)
	}
	c := a.conf.Certificate
	namespace := a.cluster.namespace()
	names := c.Names
	if len(names) == 0 {
		names = []string{registration.DefaultService + "." + namespace + ".svc"}
	}
	return certificate.New(certificate.Options{
		Client:        client,
		Namespace:     namespace,
		Secret:        c.Name,
		Configuration: c.Configuration,
		Names:         names,
		Log:           a.log,
	})
}

// publisher returns recorderOptions.Opened; nil without a webhook.
func (a *admitting) publisher() func(iter.Seq2[object.Ref, trace.SpanContext], []*span.Trace) {
	if !a.configured() {
		return nil
	}
	return func(open iter.Seq2[object.Ref, trace.SpanContext], traces []*span.Trace) {
		a.opened.publish(open, traces, a.sampling(), time.Now())
	}
}
