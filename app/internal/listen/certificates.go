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
	"time"
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
	// from and until are when the certificate of config is valid.
	from, until time.Time
	// said is what was logged of the files as they are now, invalid what was of
	// the certificate.
	said, invalid string
	now           func() time.Time
}

func newCertificates(files TLS, p Purpose) *certificates {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return &certificates{files: files, purpose: p, now: time.Now}
}

// follow returns a configuration that is always as the files are. An error says
// which of them cannot be used.
func (c *certificates) follow() (*tls.Config, error) {
	if err := c.renew(); err != nil {
		return nil, err
	}
	c.judge()
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
			c.purpose.Log.Warn(
				"a certificate cannot be renewed; the last one stays",
				"for",
				c.purpose.Name,
				"error",
				said,
			)
		}
	}
	c.said = said
	c.judge()
	return c.config
}

// judge logs, once for each certificate, that it is not valid now. It is shown all
// the same: whether that matters is for whoever connects.
func (c *certificates) judge() {
	invalid, now := "", c.now()
	switch {
	case now.After(c.until):
		invalid = "it has expired on " + c.until.UTC().Format(time.RFC3339)
	case now.Before(c.from):
		invalid = "it is valid from " + c.from.UTC().Format(time.RFC3339) + " on; see the clock of this machine"
	}
	if invalid != "" && invalid != c.invalid {
		c.purpose.Log.Error(
			"the certificate is not valid, so clients that check it do not connect; put a valid one in its place, it is read at the next connection",
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
	}
	if c.files.ClientCAFile != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
			return fmt.Errorf("cannot admit clients by %s: it has no certificate in PEM", c.files.ClientCAFile)
		}
	}
	c.read, c.config, c.from, c.until = read, config, cert.Leaf.NotBefore, cert.Leaf.NotAfter
	return nil
}
