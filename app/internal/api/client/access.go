// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// Access is what a Client needs for a server that is not on loopback. The zero value is enough for
// a server without a token whose certificate the system trusts.
type Access struct {
	// TokenFile has the server's token. It is read for each request, and can be replaced at any time.
	TokenFile string
	// CAFile has the certificate authorities of the server, in PEM; empty means those of the system.
	CAFile string
}

// check returns the TLS configuration for a server. It reads both files, for an early error.
func (a Access) check(server *url.URL) (*tls.Config, error) {
	if a.TokenFile != "" {
		if server.Scheme != "https" && !onLoopback(server) {
			return nil, fmt.Errorf(
				"the token is not sent to %s, since the network could read it: name the server with https://",
				server.Redacted(),
			)
		}
		if _, err := httpserve.ReadToken(a.TokenFile); err != nil {
			return nil, err
		}
	}
	if a.CAFile == "" {
		return nil, nil
	}
	authorities, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA file: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("cannot use the CA file %s: it has no certificate in PEM", a.CAFile)
	}
	return config, nil
}

func onLoopback(server *url.URL) bool {
	ip := net.ParseIP(server.Hostname())
	return server.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// authorize adds the token to a request.
func (a Access) authorize(req *http.Request) error {
	if a.TokenFile == "" {
		return nil
	}
	token, err := httpserve.ReadToken(a.TokenFile)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// unauthorized is the message for a refused request, with the server's reason.
func (c *Client) unauthorized(why string) string {
	if c.access.TokenFile == "" {
		return c.Server() + " requires a token: name the file that has it with --token-file or LIFELINE_TOKEN_FILE"
	}
	return fmt.Sprintf("%s does not accept the token in %s: %s", c.Server(), c.access.TokenFile, why)
}

// untrusted returns the error for a server whose certificate is not trusted; nil for another error.
func (c *Client) untrusted(err error) error {
	var verification *tls.CertificateVerificationError
	if !errors.As(err, &verification) {
		return nil
	}
	var authority x509.UnknownAuthorityError
	if !errors.As(err, &authority) {
		return fmt.Errorf("the certificate of %s is not valid: %w", c.Server(), verification.Err)
	}
	remedy := "name the file with its authority with --ca-file or LIFELINE_CA_FILE"
	if c.access.CAFile != "" {
		remedy = "it is not of an authority in " + c.access.CAFile
	}
	return fmt.Errorf("the certificate of %s is not trusted: %s: %w", c.Server(), remedy, verification.Err)
}
