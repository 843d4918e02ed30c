// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// gatherServer reads the sources of a server's traces.
func gatherServer(ctx context.Context, c *client.Client) Known[Server] {
	info, err := c.Info(ctx)
	if err != nil {
		return unknown[Server](object.Bound(err.Error()))
	}
	s := Server{
		Version: object.Bound(info.Version), Mode: object.Bound(info.Mode), Local: isLocal(c.Server()),
		Stats: info.Stats, AsOf: info.AsOf, Configuration: config.Default(),
	}
	sources, err := within(ctx, c.Sources)
	if err != nil {
		return unknown[Server](fmt.Sprintf("the server (lifeline %s) does not report its sources: %s",
			s.Version, object.Bound(err.Error())))
	}
	s.From = *sources
	// A server of another version may have fields unknown to this one.
	if read, err := config.Parse(s.From.Configuration); err == nil && len(s.From.Configuration) > 0 {
		s.Configuration = read
	}
	return known(s)
}

// isLocal reports whether a server is on this machine, or reached through a loopback address.
func isLocal(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// maxServerMetrics bounds the text of a server's metrics.
const maxServerMetrics = 8 << 20

// gatherMetrics reads a server's metrics. Without a URL it uses the host of the server's API, and
// the port in the server's configuration.
func gatherMetrics(ctx context.Context, telemetry, server string, s *Server) ([]byte, error) {
	if telemetry == "" {
		u, err := url.Parse(server)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metrics of %s: %w", server, err)
		}
		_, port, err := net.SplitHostPort(s.Configuration.Telemetry.Address)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metrics of %s: %w", u.Host, err)
		}
		telemetry = "http://" + net.JoinHostPort(u.Hostname(), port)
	}
	return within(ctx, func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, telemetry+"/metrics", nil)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metrics (--telemetry): %w", err)
		}
		c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		defer c.CloseIdleConnections()
		res, err := c.Do(req)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metrics; name their address with --telemetry: %w", err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("cannot read the metrics at %s: status %d", req.URL.Redacted(), res.StatusCode)
		}
		return io.ReadAll(io.LimitReader(res.Body, maxServerMetrics))
	})
}
