// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"golang.org/x/net/netutil"
)

// Endpoint is an address to listen on. The zero value is disabled.
type Endpoint struct {
	// Address is host:port. If it is empty, the endpoint is disabled. An empty host means every
	// address of the machine. Port 0 means any free port.
	Address string
	// Insecure allows plaintext on an address other than loopback. Anybody with access to that
	// address can then read the data and send any.
	Insecure bool
	// Private requires TLS and a token on an address other than loopback. It excludes Insecure.
	Private bool
	// Identified means that the handler knows each caller, so that Private requires no token.
	Identified bool
	// ClientCertificates says whether client certificates are requested or required. The handler checks them
	// against its authorities. It has no effect with TLS.ClientCAFile.
	ClientCertificates tls.ClientAuthType
	// TLS has the certificate files; the zero value means plaintext.
	TLS TLS
	// Certificate returns the server certificate of a handshake. It excludes TLS. Nil means that
	// the files in TLS are used.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// TokenFile has the required token of requests; see Token. Empty means that none is required.
	TokenFile string
}

// Authenticates reports whether clients need a certificate or a token.
func (e Endpoint) Authenticates() bool { return e.TokenFile != "" || e.TLS.ClientCAFile != "" }

// TLS has the names of the certificate files of an endpoint, in PEM. They are read at each
// handshake, and can be replaced at any time. While a file is unusable, the last usable files stay
// in use.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile has the certificate authorities of clients. If it is empty, clients need no
	// certificate.
	ClientCAFile string
}

func (t TLS) enabled() bool { return t != TLS{} }

// Purpose describes the use of an endpoint.
type Purpose struct {
	// Name is the name of the endpoint in errors and logs: "OTLP over gRPC".
	Name string
	// MaxConnections limits the open connections; it must be positive.
	MaxConnections int
	// Refused is called for each connection above MaxConnections, and that connection is closed at
	// once. If it is nil, such connections wait.
	Refused func()
	// Protocols are the offered protocols over TLS (ALPN), the preferred one first.
	Protocols []string
	// Log receives failed renewals and invalid certificates; nil means no log.
	Log *slog.Logger
}

// Validate checks an Endpoint; name is its Purpose.Name, for the error. It does not open files or
// addresses: Listen does.
func (e Endpoint) Validate(name string) error {
	if e.Address == "" {
		if e.TLS.enabled() {
			return fmt.Errorf("cannot listen for %s: TLS files are set, but no address", name)
		}
		if e.TokenFile != "" {
			return fmt.Errorf("cannot listen for %s: a token file is set, but no address", name)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return fmt.Errorf("cannot listen for %s on %.80q: it is not host:port", name, e.Address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("cannot listen for %s on %.80q: its port is not 0 to 65535", name, e.Address)
	}
	if ip := net.ParseIP(host); e.exposed() && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return e.errExposed(name)
	}
	if e.Certificate != nil {
		if e.TLS.enabled() {
			return fmt.Errorf("cannot listen for %s on %.80q: set either TLS files or a managed certificate, not both",
				name, e.Address)
		}
		return nil
	}
	if e.TLS.enabled() {
		if e.TLS.CertFile == "" || e.TLS.KeyFile == "" {
			return fmt.Errorf("cannot listen for %s on %.80q: TLS needs both a certificate and its key",
				name, e.Address)
		}
		return nil
	}
	if ip := net.ParseIP(host); !e.Insecure && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return e.errOpen(name)
	}
	return nil
}

// exposed reports whether a Private endpoint may listen on loopback only.
func (e Endpoint) exposed() bool {
	return e.Private && (!e.TLS.enabled() || e.TokenFile == "" && !e.Identified)
}

func (e Endpoint) errExposed(name string) error {
	return fmt.Errorf(
		"cannot listen for %s on %.80q: an address other than loopback needs both a certificate and a token file",
		name, e.Address)
}

func (e Endpoint) errOpen(name string) error {
	return fmt.Errorf(
		"cannot listen for %s on %.80q without TLS: it is not loopback, so anybody could read and send data; "+
			"set a certificate and its key, or allow insecure",
		name,
		e.Address,
	)
}

// Listen opens the listener of an Endpoint with an address. Its error names the unusable address or
// file.
//
// With TLS, connections have type *tls.Conn. The first read runs the handshake, and the caller must
// set its deadline.
func (e Endpoint) Listen(ctx context.Context, p Purpose) (net.Listener, error) {
	if err := e.Validate(p.Name); err != nil {
		return nil, err
	}
	if e.Address == "" {
		return nil, fmt.Errorf("cannot listen for %s: there is no address", p.Name)
	}
	if err := ctx.Err(); err != nil { // net.Listen may miss a cancelled context if it finds a name at once
		return nil, fmt.Errorf("cannot listen for %s: %w", p.Name, err)
	}
	var config *tls.Config
	switch {
	case e.Certificate != nil:
		config = &tls.Config{
			MinVersion:             tls.VersionTLS12,
			NextProtos:             p.Protocols,
			SessionTicketsDisabled: true,
			GetCertificate:         e.Certificate,
			ClientAuth:             e.ClientCertificates,
		}
	case e.TLS.enabled():
		var err error
		if config, err = newCertificates(e.TLS, e.ClientCertificates, p).follow(); err != nil {
			return nil, fmt.Errorf("cannot listen for %s: %w", p.Name, err)
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for %s (choose a free address, or stop the process that uses it): %w",
			p.Name, err)
	}
	if local, ok := ln.Addr().(*net.TCPAddr); ok && !local.IP.IsLoopback() {
		switch { // "localhost" is not a loopback address here
		case e.exposed():
			_ = ln.Close()
			return nil, e.errExposed(p.Name)
		case config == nil && !e.Insecure:
			_ = ln.Close()
			return nil, e.errOpen(p.Name)
		}
	}
	if p.Refused != nil {
		ln = newRefusing(ln, p.MaxConnections, p.Refused)
	} else {
		ln = netutil.LimitListener(ln, p.MaxConnections)
	}
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return ln, nil
}
