// SPDX-License-Identifier: Apache-2.0

// Package api is the little of a Kubernetes client that starting a cluster
// takes: JSON over HTTPS with a client certificate. Tests use kubectl or
// client-go.
package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kube-lifeline/lifeline/lab/internal/pki"
)

// ErrNotFound is the error of a request for a missing object.
var ErrNotFound = errors.New("not found")

// A Client talks to one API server as one user. Its methods may be called
// concurrently.
type Client struct {
	url  string
	http *http.Client
}

// New returns a client for the server at url, which presents a certificate of
// the authority ca (PEM). Close releases it.
func New(url string, ca []byte, user pki.Pair) (*Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("cannot read the authority's certificate")
	}
	cert, err := tls.X509KeyPair(user.Cert, user.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read the client certificate: %w", err)
	}
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return &Client{url: url, http: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}, nil
}

// At returns a client of the same user for another server of the same authority.
// The two share their connections: Close of the first is enough.
func (c *Client) At(url string) *Client { return &Client{url: url, http: c.http} }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get decodes the object at path into out, which may be nil.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Create posts the object to the collection at path.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("cannot encode an object for %s: %w", path, err)
	}
	return c.do(ctx, http.MethodPost, path, body, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot request %s: %w", path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "lifeline-lab")
	res, err := c.http.Do(req)
	if err != nil {
		return err // names method and URL
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the answer to %s %s: %w", method, path, err)
	case res.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", method, path, ErrNotFound)
	case res.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, data[:min(len(data), 500)])
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("cannot decode the answer to %s %s: %w", method, path, err)
	}
	return nil
}
