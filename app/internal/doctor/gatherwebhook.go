// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// webhook reads the registration of the admission webhook, and connects to it.
func (g *gatherer) webhook(ctx context.Context) Known[*Webhook] {
	list, err := within(ctx, func(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfigurationList,
		error) {
		return g.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{
			LabelSelector: registration.Selector, Limit: nodePage,
		})
	})
	switch {
	case apierrors.IsNotFound(err): // an API server without admission
		return known[*Webhook](nil)
	case err != nil:
		return unknown[*Webhook](g.why(err, "list mutatingwebhookconfigurations"))
	case len(list.Items) == 0 || len(list.Items[0].Webhooks) == 0:
		return known[*Webhook](nil)
	}
	c := &list.Items[0]
	client := c.Webhooks[0].ClientConfig
	w := &Webhook{Name: object.Bound(c.Name), Authority: object.Bound(c.Annotations[registration.CAKey])}
	for _, d := range registration.Differs(c) {
		w.Differs = append(w.Differs, object.Bound(d))
	}
	if c.Annotations[registration.CertManagerKey] != "" {
		w.Authority = "cert-manager"
	}
	roots, n, until := authorities(client.CABundle)
	w.Authorities, w.Until = n, until
	address, name := "", ""
	switch {
	case client.URL != nil:
		w.Where = object.Bound(*client.URL)
		w.Ready = unknown[int]("it is no Service")
		if u, err := url.Parse(*client.URL); err == nil {
			address, name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), u.Hostname()
		}
	case client.Service != nil:
		s := client.Service
		port := int32(443)
		if s.Port != nil {
			port = *s.Port
		}
		w.Where = object.Bound(fmt.Sprintf("%s/%s:%d", s.Namespace, s.Name, port))
		w.Ready = g.ready(ctx, s.Namespace, s.Name)
		name = s.Name + "." + s.Namespace + ".svc"
		address = net.JoinHostPort(name, strconv.Itoa(int(port)))
	}
	w.Served = g.served(ctx, address, name, roots)
	w.Calls = g.calls(ctx)
	return known(w)
}

// authorities parses a CA bundle. For an empty bundle the API server uses its default authorities.
func authorities(bundle []byte) (roots *x509.CertPool, n int, until time.Time) {
	if len(bundle) == 0 {
		return nil, 0, until
	}
	roots = x509.NewCertPool()
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return roots, n, until
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			roots.AddCert(c)
			n++
			if c.NotAfter.After(until) {
				until = c.NotAfter
			}
		}
	}
}

// ready counts the ready endpoints of a Service; a missing Service has none.
func (g *gatherer) ready(ctx context.Context, namespace, name string) Known[int] {
	list, err := within(ctx, func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
		if _, err := g.client.CoreV1().Services(namespace).Get(ctx, name,
			metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return &discoveryv1.EndpointSliceList{}, nil
		}
		return g.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + name, Limit: nodePage,
		})
	})
	if err != nil {
		return unknown[int](g.why(err, "list endpointslices in "+object.Bound(namespace)))
	}
	n := 0
	for _, s := range list.Items {
		n += count(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Conditions.Ready == nil || *e.Conditions.Ready
		})
	}
	return known(n)
}

// reach bounds the connection to the webhook: most machines reach no Service.
const reach = 2 * time.Second

// served performs a TLS handshake with the webhook, as the API server would.
func (g *gatherer) served(ctx context.Context, address, name string, roots *x509.CertPool) Known[Served] {
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return unknown[Served]("this machine does not reach it")
	}
	defer raw.Close()
	var s Served
	verify := func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("there is no certificate")
		}
		between := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			between.AddCert(c)
		}
		s.Until = state.PeerCertificates[0].NotAfter.UTC()
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
			DNSName: name, Roots: roots, Intermediates: between, CurrentTime: g.now(),
		})
		return err
	}
	over := tls.Client(raw, &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: name,
		InsecureSkipVerify: true, //nolint:gosec // verify does, and tells more than that it does not fit
		VerifyConnection:   verify,
	})
	if err := over.HandshakeContext(ctx); err != nil {
		s.Wrong = object.Bound(err.Error())
	}
	return known(s)
}

// Metrics of the API server, by webhook.
const (
	callsMetric  = "apiserver_admission_webhook_request_total"
	failedMetric = "apiserver_admission_webhook_fail_open_count"
)

// calls reads the counts of the API server's webhook calls.
func (g *gatherer) calls(ctx context.Context) Known[Calls] {
	c, err := within(ctx, func(ctx context.Context) (Calls, error) {
		body, err := g.client.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
		if err != nil {
			return Calls{}, err
		}
		defer body.Close()
		return callsIn(body)
	})
	if err != nil {
		return unknown[Calls](g.why(err, "get /metrics of the API server"))
	}
	return known(c)
}

// callsIn sums the counts of our webhooks.
func callsIn(text io.Reader) (Calls, error) {
	var c Calls
	lines := bufio.NewScanner(io.LimitReader(text, maxMetrics))
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), "{")
		if !ok || name != callsMetric && name != failedMetric {
			continue
		}
		labels, value, ok := strings.Cut(rest, "} ")
		if !ok || !strings.Contains(labels, `name="`+registration.ObjectsName+`"`) &&
			!strings.Contains(labels, `name="`+registration.ObservedName+`"`) {
			continue
		}
		value, _, _ = strings.Cut(value, " ") // a timestamp may follow
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return c, err
		}
		if name == failedMetric {
			c.Failed += n
		} else {
			c.All += n
		}
	}
	return c, lines.Err()
}
