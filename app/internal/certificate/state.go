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

// Keys of the Secret beside those of its type: who is trusted, and the certificate
// that is to come.
const (
	trustedKey  = "ca.crt"
	nextCertKey = "next.crt"
	nextKeyKey  = "next.key"
)

const (
	// maxTrusted and maxNames bound what is taken over from a Secret that others
	// could have written.
	maxTrusted, maxNames = 4, 20
	maxBundle            = 64 << 10
)

// state is what the servers share.
type state struct {
	// now is served; nil if there is none that could be. next is served from when the
	// API server knows it; nil if none is to come.
	now, next *pair
	// trusted are the certificates that the API server is to know, the newest first.
	trusted []*x509.Certificate
}

// readState reads a Secret's data; what is of no use is left out.
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

// data is the state as a Secret holds it.
func (s *state) data() map[string][]byte {
	data := map[string][]byte{corev1.TLSCertKey: s.now.cert, corev1.TLSPrivateKeyKey: s.now.key, trustedKey: s.bundle()}
	if s.next != nil {
		data[nextCertKey], data[nextKeyKey] = s.next.cert, s.next.key
	}
	return data
}

// bundle are the trusted in PEM.
func (s *state) bundle() []byte {
	var out bytes.Buffer
	for _, c := range s.trusted {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // to memory
	}
	return out.Bytes()
}

// readBundle reads certificates, as far as they can be read.
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

// plan says what is kept, and what is to become of it.
type plan struct {
	names  []string
	life   time.Duration
	settle time.Duration
	now    time.Time
	// known reports whether the API server knows a certificate.
	known func(*x509.Certificate) bool
}

// follow returns what is to follow a state, and why; empty if it stays as it is. It
// is one step: the same state and time give the same step, but for the keys.
func (s state) follow(p plan) (after state, why string, err error) {
	good := s.now.good(p.names, p.now)
	switch {
	case !good && s.next.good(p.names, p.now):
		s.now, s.next, why = s.next, nil, "the one before cannot be served any more"
	case !good:
		was := s.now
		if s.now, err = makePair(p.union(was), p.now, p.life); err != nil {
			return s, "", err
		}
		s.next, why = nil, "there is none that is valid for these names"
	case s.next != nil && !s.next.good(p.names, p.now):
		s.next, why = nil, "what was to come is of no use"
	case s.next != nil && p.now.Sub(s.next.begin()) >= p.settle && p.known(s.next.leaf):
		s.now, s.next, why = s.next, nil, "the API server knows it"
	case s.next == nil && s.now.old(p.now):
		if s.next, err = makePair(p.union(s.now), p.now, p.life); err != nil {
			return s, "", err
		}
		why = "two thirds of the life of the one before are over"
	}
	trusted := s.trust(p.now)
	if why == "" && !slices.EqualFunc(trusted, s.trusted, (*x509.Certificate).Equal) {
		why = "others are to be known"
	}
	s.trusted = trusted
	return s, why, nil
}

// trust are the certificates to be known: what is to come, what is, and what others
// may serve still, until it ends.
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

// union are the names to make a certificate for: also those of the one before, so
// that servers of different configurations do not undo each other's.
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
