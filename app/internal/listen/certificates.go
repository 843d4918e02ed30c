// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// certificates reads an endpoint's files anew at each handshake, and makes a
// configuration of them when they have changed. Reading them costs little beside
// a handshake, and unlike their times it misses no change.
type certificates struct {
	files   TLS
	purpose Purpose

	mu     sync.Mutex
	read   [3][]byte // as config was made of
	config *tls.Config
	// said is what was logged of the files as they are now.
	said string
}

func newCertificates(files TLS, p Purpose) *certificates {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return &certificates{files: files, purpose: p}
}

// follow returns a configuration that is always as the files are. An error says
// which of them cannot be used.
func (c *certificates) follow() (*tls.Config, error) {
	if err := c.renew(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: c.purpose.Protocols,
		// A session that is resumed is not admitted by the files as they are now.
		SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current(), nil
		},
	}, nil
}

// current is the configuration as the files are now, or were when they could
// last be used.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := ""
	if err := c.renew(); err != nil {
		if said = err.Error(); said != c.said {
			c.purpose.Log.Warn("a certificate cannot be renewed; the last one stays", "for", c.purpose.Name, "error", said)
		}
	}
	c.said = said
	return c.config
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
	if c.config != nil && bytes.Equal(read[0], c.read[0]) && bytes.Equal(read[1], c.read[1]) && bytes.Equal(read[2], c.read[2]) {
		return nil
	}
	cert, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return fmt.Errorf("cannot use certificate %s with key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: c.purpose.Protocols, SessionTicketsDisabled: true, Certificates: []tls.Certificate{cert},
	}
	if c.files.ClientCAFile != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
			return fmt.Errorf("cannot admit clients by %s: it has no certificate in PEM", c.files.ClientCAFile)
		}
	}
	c.read, c.config = read, config
	return nil
}
