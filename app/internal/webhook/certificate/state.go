// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret besides those of its type: the trusted certificates, and the next certificate.
const (
	trustedKey  = "ca.crt"
	nextCertKey = "next.crt"
	nextKeyKey  = "next.key"
)

const (
	// maxTrusted and maxNames bound the data from a Secret, because others may have written it.
	maxTrusted, maxNames = 4, 20
	maxBundle            = 64 << 10
)

// state is the servers' shared state.
type state struct {
	// now is served; nil without a usable one. next is served once the API server trusts it; nil if
	// there is none.
	now, next *pair
	// trusted are the certificates that the API server should trust, newest first.
	trusted []*x509.Certificate
}

// readState decodes a Secret's data; it skips unusable parts.
func readState(data map[string][]byte) state {
	var s state
	if p, err := readPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err == nil {
		s.now = p
	}
	if p, err := readPair(data[nextCertKey], data[nextKeyKey]); err == nil {
		s.next = p
	}
	s.trusted = readBundle(data[trustedKey])
	return s
}

// data encodes the state for a Secret.
func (s *state) data() map[string][]byte {
	data := map[string][]byte{corev1.TLSCertKey: s.now.cert, corev1.TLSPrivateKeyKey: s.now.key, trustedKey: s.bundle()}
	if s.next != nil {
		data[nextCertKey], data[nextKeyKey] = s.next.cert, s.next.key
	}
	return data
}

// bundle returns the trusted certificates in PEM.
func (s *state) bundle() []byte {
	var out bytes.Buffer
	for _, c := range s.trusted {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // to memory
	}
	return out.Bytes()
}

// readBundle decodes certificates, up to the first unreadable one.
func readBundle(text []byte) []*x509.Certificate {
	if len(text) > maxBundle {
		return nil
	}
	var out []*x509.Certificate
	for len(out) < maxTrusted {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			out = append(out, c)
		}
	}
	return out
}

// holds reports whether a bundle has a certificate.
func holds(bundle []*x509.Certificate, c *x509.Certificate) bool {
	return slices.ContainsFunc(bundle, c.Equal)
}

// plan is the input of a step besides the state.
type plan struct {
	makes
	names  []string
	settle time.Duration
	now    time.Time
	// trusted reports whether the API server trusts a certificate.
	trusted func(*x509.Certificate) bool
}

// follow returns the next state and the reason for it; the reason is empty without a change. It is
// deterministic: the same state and time give the same step, except for the keys.
func (s state) follow(p plan) (after state, why string, err error) {
	good := s.now.good(p.names, p.now)
	switch {
	case !good && s.next.good(p.names, p.now):
		s.now, s.next, why = s.next, nil, "the previous certificate is not valid any more"
	case !good:
		was := s.now
		if s.now, err = p.pair(p.union(was), p.now); err != nil {
			return s, "", err
		}
		s.next, why = nil, "no certificate is valid for these names"
	case s.next != nil && !s.next.good(p.names, p.now):
		s.next, why = nil, "the prepared next certificate is unusable"
	case s.next != nil && p.now.Sub(s.next.begin()) >= p.settle && p.trusted(s.next.leaf):
		s.now, s.next, why = s.next, nil, "the API server trusts it"
	case s.next == nil && s.now.old(p.now):
		if s.next, err = p.pair(p.union(s.now), p.now); err != nil {
			return s, "", err
		}
		why = "two thirds of the present certificate's life are over"
	}
	trusted := s.trust(p.now)
	if why == "" && !slices.EqualFunc(trusted, s.trusted, (*x509.Certificate).Equal) {
		why = "the trusted certificates have changed"
	}
	s.trusted = trusted
	return s, why, nil
}

// trust returns the certificates to trust: the next, the current, and those that other servers may
// still serve, until they end.
func (s *state) trust(now time.Time) []*x509.Certificate {
	var out []*x509.Certificate
	if s.next != nil {
		out = append(out, s.next.leaf)
	}
	out = append(out, s.now.leaf)
	for _, c := range s.trusted {
		if len(out) < maxTrusted && now.Before(c.NotAfter) && !holds(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// union returns the names for a new certificate. It includes those of the last one, so that servers
// with different configurations do not undo each other's changes.
func (p *plan) union(was *pair) []string {
	out := slices.Clone(p.names)
	if was == nil {
		return out
	}
	for _, name := range was.names() {
		if len(out) < maxNames && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
