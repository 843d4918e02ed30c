// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates reads an endpoint's files at each handshake, and rebuilds the TLS configuration
// after a change. Reading is cheap compared with a handshake. Modification times could miss a
// change.
type certificates struct {
	files   TLS
	clients tls.ClientAuthType
	purpose Purpose

	mu     sync.Mutex
	read   [3][]byte // the file contents for config
	config *tls.Config
	// from and until limit the validity of the certificate in config.
	from, until time.Time
	// said is the logged error of the files, invalid that of the certificate; empty without an
	// error.
	said, invalid string
	now           func() time.Time
}

func newCertificates(files TLS, clients tls.ClientAuthType, p Purpose) *certificates {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return &certificates{files: files, clients: clients, purpose: p, now: time.Now}
}

// follow returns a configuration that follows changes of the files. Its error names the unusable
// file.
func (c *certificates) follow() (*tls.Config, error) {
	if err := c.renew(); err != nil {
		return nil, err
	}
	c.judge()
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: c.purpose.Protocols,
		// A resumed session would skip the check against the current files.
		SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current(), nil
		},
	}, nil
}

// current returns the configuration for the current files. If they are unusable, it returns the
// previous configuration.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := ""
	if err := c.renew(); err != nil {
		if said = err.Error(); said != c.said {
			c.purpose.Log.Warn("cannot renew certificate; the last one stays in use",
				"for", c.purpose.Name, "error", said)
		}
	}
	c.said = said
	c.judge()
	return c.config
}

// judge logs an invalid certificate, once for each certificate. The server presents it all the
// same, because validity is the client's decision.
func (c *certificates) judge() {
	invalid, now := "", c.now()
	switch {
	case now.After(c.until):
		invalid = "it has expired on " + c.until.UTC().Format(time.RFC3339)
	case now.Before(c.from):
		invalid = "it is valid only from " + c.from.UTC().Format(time.RFC3339) + "; check the clock of this machine"
	}
	if invalid != "" && invalid != c.invalid {
		c.purpose.Log.Error(
			"the certificate is not valid, and clients will reject it; "+
				"replace the file, the next connection reads it",
			"for",
			c.purpose.Name,
			"file",
			c.files.CertFile,
			"error",
			invalid,
		)
	}
	c.invalid = invalid
}

func (c *certificates) renew() error {
	var read [3][]byte
	for i, file := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile} {
		if file == "" {
			continue
		}
		var err error
		if read[i], err = os.ReadFile(file); err != nil {
			return fmt.Errorf("cannot read TLS file: %w", err)
		}
	}
	if c.config != nil && bytes.Equal(read[0], c.read[0]) && bytes.Equal(read[1], c.read[1]) &&
		bytes.Equal(read[2], c.read[2]) {
		return nil
	}
	cert, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return fmt.Errorf("cannot use certificate %s with key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             c.purpose.Protocols,
		SessionTicketsDisabled: true,
		Certificates:           []tls.Certificate{cert},
		ClientAuth:             c.clients,
	}
	if c.files.ClientCAFile != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
			return fmt.Errorf("cannot use client CA file %s: it has no certificate in PEM", c.files.ClientCAFile)
		}
	}
	c.read, c.config, c.from, c.until = read, config, cert.Leaf.NotBefore, cert.Leaf.NotAfter
	return nil
}
