// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
)

// streams are the names of the streams behind an API server, by their paths.
var streams = map[string]string{"watch": "watch", "problems/stream": "problems"}

// cluster is the API server in front of a server.
type cluster struct {
	// url is the URL of the API server, with the path of its API if it has one.
	url *url.URL
}

// Through returns a Client of the server in a cluster. All requests go to the API server, with the transport and the
// credentials of config; the server gets no credentials. It does not connect.
func Through(config *rest.Config) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	base = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimSuffix(base.Path, "/") + "/"}
	return &Client{
		Patience: DefaultPatience, base: base.JoinPath(kubeapi.Root), through: &cluster{base},
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect},
		wait: wait, pause: retryAfter,
	}, nil
}

// Through reports whether the requests of the Client go through an API server.
func (c *Client) Through() bool { return c.through != nil }

// Offered reports whether the cluster has the API of a server: its APIService exists. It is false, too, for a user who
// may not discover APIs.
func (c *Client) Offered(ctx context.Context) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String(), nil)
	if err != nil {
		return false, fmt.Errorf("cannot ask %s: %w", c.Server(), err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return false, c.unreachable(req.Context(), err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody)) // for the next request on the connection
	switch res.StatusCode {
	case http.StatusNotFound, http.StatusForbidden:
		return false, nil
	case http.StatusUnauthorized:
		return false, refusedCredentials()
	}
	return true, nil
}

// location returns the URL of a path of the API. Behind an API server, only a request with watch=true and without a
// name may last for more than a minute.
func (c *Client) location(path string, v url.Values) *url.URL {
	if c.through == nil {
		to := *c.base
		to.Path += "/api/v1/"
		to = *to.JoinPath(path)
		to.RawQuery = v.Encode()
		return &to
	}
	to := c.base.JoinPath(kubeapi.VisibleResource)
	stream := streams[path]
	if stream == "" {
		to = to.JoinPath("-", path)
		to.RawQuery = v.Encode()
		return to
	}
	all := url.Values{"watch": {"true"}, "stream": {stream}}
	maps.Copy(all, v)
	to.RawQuery = all.Encode()
	return to
}
