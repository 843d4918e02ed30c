// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// listening is a part that serves HTTP on an address of the configuration.
type listening struct {
	// purpose is the name of the listener in errors, and fields the fields of the configuration.
	purpose, fields string
	at              httpserve.Endpoint
	handler         http.Handler
	log             *slog.Logger
	// freePort replaces an address that cannot be used by a free port of its host.
	freePort bool
	// address is the bound address, after Start.
	address net.Addr

	task
}

// newAPIListener returns the listener for people. It reads the token for the gate.
func newAPIListener(c config.APIConfiguration, g *gate, log *slog.Logger, fail func(error)) (*listening, error) {
	l := &listening{
		purpose: "the API", fields: "api.address, api.tls, api.tokenFile", handler: g, log: log,
		at:   endpoint(config.EndpointConfiguration{Address: c.Address, TokenFile: c.TokenFile, TLS: c.TLS}),
		task: task{name: "API", fail: fail},
	}
	l.at.Private, l.at.Identified, l.at.ClientCertificates = true, byRights(&c), clientCertificates(&c)
	var err error
	if g.token, err = l.at.Token(httpserve.Purpose{Name: l.purpose, Log: log}); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, l.fields)
	}
	return l, nil
}

// newTelemetryListener returns the listener for scrapers.
func newTelemetryListener(
	c config.TelemetryConfiguration, metrics prometheus.Gatherer, health *telemetry.Health,
	log *slog.Logger, fail func(error),
) *listening {
	h := telemetry.Handler(telemetry.HandlerOptions{Metrics: metrics, Health: health, Pprof: c.Pprof})
	return &listening{
		purpose: "metrics and health", fields: "telemetry.address", log: log,
		at:      httpserve.Endpoint{Address: c.Address, Insecure: true},
		handler: httpserve.GuardHost(bounded(h), plainError, hostOf(c.Address)),
		task:    task{name: "telemetry", fail: fail},
	}
}

// Start implements part. Its errors name the fields of the configuration.
func (l *listening) Start(ctx context.Context) error {
	p := httpserve.Purpose{
		Name: l.purpose, MaxConnections: httpserve.MaxConnections, Protocols: []string{"http/1.1"}, Log: l.log,
	}
	ln, err := l.at.Listen(ctx, p)
	if err != nil && l.freePort {
		l.at.Address = net.JoinHostPort(hostOf(l.at.Address), "0")
		ln, err = l.at.Listen(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("%w (%s)", err, l.fields)
	}
	l.address = ln.Addr()
	l.run = func(ctx context.Context) error { return httpserve.Serve(ctx, ln, l.handler) } // closes ln
	return l.task.Start(ctx)
}

// url returns the URL of a started listener without TLS; empty with TLS.
func (l *listening) url() string {
	if l.at.TLS != (httpserve.TLS{}) {
		return ""
	}
	return "http://" + l.address.String()
}

// answerTime bounds an answer of the telemetry listener. profileTime bounds a profile, whose client
// chooses the duration. A client that does not read is cut off.
const answerTime, profileTime = 30 * time.Second, 10 * time.Minute

func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patience := answerTime
		if strings.HasPrefix(r.URL.Path, "/debug/") {
			patience = profileTime
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
		h.ServeHTTP(w, r)
	})
}

// plainError writes an error response as text.
func plainError(w http.ResponseWriter, code int, message string) { http.Error(w, message, code) }

// hostOf returns the name or address in host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

// endpoint returns the listening address of a section of the configuration.
func endpoint(c config.EndpointConfiguration) httpserve.Endpoint {
	return httpserve.Endpoint{
		Address: c.Address, Insecure: c.Insecure, TokenFile: c.TokenFile,
		TLS: httpserve.TLS{CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, ClientCAFile: c.TLS.ClientCAFile},
	}
}
