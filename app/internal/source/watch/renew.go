// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// renew replaces the refused link if the credentials have changed. It reports whether the stream
// should retry at once. All streams may call it; pace.renew limits the reads.
func (s *server) renew(refused *link) bool {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	if s.link.Load() != refused {
		return true // another stream has renewed it
	}
	if !s.renewed.IsZero() && time.Since(s.renewed) < s.pace.renew {
		return false
	}
	s.renewed = time.Now()
	next, err := s.redial(refused)
	if err != nil {
		s.warnings.once("renew", "cannot renew the credentials: %v; trying again", err)
		return false
	}
	if next == nil {
		return false
	}
	s.link.Store(next)
	s.warnings.again("renew")
	refused.hangUp()
	return true
}

// redial returns a link with new credentials, or nil if they are unchanged. Another address is an
// error: it may be another cluster, and objects of two clusters must not mix.
func (s *server) redial(refused *link) (*link, error) {
	cfg := s.rest
	if s.reload != nil {
		var err error
		if cfg, err = s.reload(); err != nil {
			return nil, err
		}
	}
	if cfg.Host != refused.conf.Host || cfg.APIPath != refused.conf.APIPath {
		return nil, fmt.Errorf(
			"the server is now %.200q, not %.200q: restart to follow it", cfg.Host, refused.conf.Host,
		)
	}
	next, err := dial(cfg, &s.requests)
	if err != nil || next.credentials == refused.credentials {
		return nil, err
	}
	return next, nil
}

// untrusted reports whether the server's certificate failed verification. Its certificate authority
// may have been replaced.
func untrusted(err error) bool {
	var failed *tls.CertificateVerificationError
	return errors.As(err, &failed)
}

// fingerprint returns a hash of the credentials. It includes the current content of a token file,
// because client-go rereads the file only once a minute.
func fingerprint(c *rest.Config) ([sha256.Size]byte, error) {
	var token []byte
	if c.BearerTokenFile != "" {
		var err error
		if token, err = os.ReadFile(c.BearerTokenFile); err != nil && c.BearerToken == "" {
			return [sha256.Size]byte{}, fmt.Errorf("cannot read the token for %s: %w", c.Host, err)
		}
	}
	text, err := json.Marshal([]any{
		c.Username, c.Password, c.BearerToken, c.BearerTokenFile, token, c.Impersonate,
		c.CertData, c.KeyData, c.CAData, c.ServerName, c.Insecure, c.ExecProvider, c.AuthProvider,
	})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("cannot compare the credentials for %s: %w", c.Host, err)
	}
	return sha256.Sum256(text), nil
}
