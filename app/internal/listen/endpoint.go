// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"golang.org/x/net/netutil"
)

// Endpoint is an address to listen on. The zero value is nowhere.
type Endpoint struct {
	// Address is host:port; empty is nowhere. An empty host is every address of
	// the machine, port 0 takes a free port.
	Address string
	// Insecure allows plaintext on an address that is not of loopback, where
	// whoever reaches it can read what is sent, and send what they like.
	Insecure bool
	// TLS says with which certificate; the zero value is plaintext.
	TLS TLS
	// Certificate is asked at each handshake for the certificate, in place of the files
	// of TLS, of which there are none then; nil if there is nobody to ask.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// TokenFile has the token that each request must carry; see Token. Empty asks for none.
	TokenFile string
}

// Authenticates reports whether only clients that prove who they are may send: by a certificate or
// a token.
func (e Endpoint) Authenticates() bool { return e.TokenFile != "" || e.TLS.ClientCAFile != "" }

// TLS names the files, in PEM, that an endpoint identifies itself and others
// with. They are read at each handshake, so they can be renewed at any time; one
// that cannot be used leaves the last in place.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile has the authorities whose clients may connect; empty admits
	// anybody.
	ClientCAFile string
}

func (t TLS) enabled() bool { return t != TLS{} }

// Purpose is what an endpoint is for.
type Purpose struct {
	// Name is how errors and the log call it: "OTLP over gRPC".
	Name string
	// MaxConnections bounds the connections at a time. It is more than 0.
	MaxConnections int
	// Refused is told of connections beyond that, which are closed at once; if it
	// is nil they wait.
	Refused func()
	// Protocols are offered to clients over TLS (ALPN), the best first.
	Protocols []string
	// Log is told of certificates that cannot be renewed or are not valid now; nil
	// is silent.
	Log *slog.Logger
}

// Validate says what is wrong with an Endpoint that is for what name says, or
// returns nil. Whether files can be read and the address is free, Listen finds
// out.
func (e Endpoint) Validate(name string) error {
	if e.Address == "" {
		if e.TLS.enabled() {
			return fmt.Errorf("cannot listen for %s: there are TLS files, and no address", name)
		}
		if e.TokenFile != "" {
			return fmt.Errorf("cannot listen for %s: there is a token file, and no address", name)
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
	if e.Certificate != nil {
		if e.TLS.enabled() {
			return fmt.Errorf(
				"cannot listen for %s on %.80q: there are TLS files, and a certificate that is managed",
				name,
				e.Address,
			)
		}
		return nil
	}
	if e.TLS.enabled() {
		if e.TLS.CertFile == "" || e.TLS.KeyFile == "" {
			return fmt.Errorf(
				"cannot listen for %s on %.80q: TLS needs both a certificate and its key",
				name,
				e.Address,
			)
		}
		return nil
	}
	if ip := net.ParseIP(host); !e.Insecure && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return e.errOpen(name)
	}
	return nil
}

func (e Endpoint) errOpen(name string) error {
	return fmt.Errorf(
		"cannot listen for %s on %.80q without TLS: it is not loopback, so others could read and send what they like; "+
			"set a certificate and its key, or allow insecure",
		name,
		e.Address,
	)
}

// Listen begins to listen, on an Endpoint that has an address. An error names the
// address or the file that cannot be used.
//
// With TLS, connections are of type *tls.Conn, and shake hands when they are first
// read from: whoever serves them bounds how long that may take.
func (e Endpoint) Listen(ctx context.Context, p Purpose) (net.Listener, error) {
	if err := e.Validate(p.Name); err != nil {
		return nil, err
	}
	if e.Address == "" {
		return nil, fmt.Errorf("cannot listen for %s: there is no address", p.Name)
	}
	if err := ctx.Err(); err != nil { // a name may be known too fast for anybody to notice
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
		}
	case e.TLS.enabled():
		var err error
		if config, err = newCertificates(e.TLS, p).follow(); err != nil {
			return nil, fmt.Errorf("cannot listen for %s: %w", p.Name, err)
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for %s (choose a free address, or end what has it): %w", p.Name, err)
	}
	if local, ok := ln.Addr().(*net.TCPAddr); ok && !local.IP.IsLoopback() && config == nil && !e.Insecure {
		_ = ln.Close() // "localhost" was something else
		return nil, e.errOpen(p.Name)
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
