// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// backdate is how far clocks may be behind the issuer's.
const backdate = time.Hour

// pair is a certificate and its key in PEM, and the parsed certificate.
type pair struct {
	cert, key []byte
	leaf      *x509.Certificate
}

// makes describes new certificates.
type makes struct {
	subject string
	// clients means that they identify clients, too.
	clients bool
	life    time.Duration
}

// pair creates a certificate for names, valid from now.
func (m makes) pair(names []string, now time.Time) (*pair, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("cannot make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: m.subject},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(m.life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if m.clients {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("cannot write a key: %w", err)
	}
	return readPair(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	)
}

// readPair parses the result of makes.pair. It rejects all other certificates with an error.
func readPair(cert, key []byte) (*pair, error) {
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if len(both.Certificate) != 1 ||
		both.Leaf.CheckSignature(both.Leaf.SignatureAlgorithm, both.Leaf.RawTBSCertificate,
			both.Leaf.Signature) != nil {
		return nil, errors.New("it is not its own authority")
	}
	return &pair{cert, key, both.Leaf}, nil
}

// tls returns the pair in the form for serving.
func (p *pair) tls() *tls.Certificate {
	key, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil { // it was parsed before
		return nil
	}
	return &key
}

// good reports whether the pair is valid at a time, for all names.
func (p *pair) good(names []string, now time.Time) bool {
	if p == nil || now.Before(p.leaf.NotBefore) || !now.Before(p.leaf.NotAfter) {
		return false
	}
	for _, name := range names {
		if p.leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// old reports whether two thirds of its life are over.
func (p *pair) old(now time.Time) bool {
	begin := p.begin()
	return now.Sub(begin) >= p.leaf.NotAfter.Sub(begin)*2/3
}

// begin returns the time of its creation.
func (p *pair) begin() time.Time { return p.leaf.NotBefore.Add(backdate) }

// names returns the names in the certificate.
func (p *pair) names() []string {
	names := p.leaf.DNSNames
	for _, ip := range p.leaf.IPAddresses {
		names = append(names[:len(names):len(names)], ip.String())
	}
	return names
}
