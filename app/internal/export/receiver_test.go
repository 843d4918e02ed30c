// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name) // a name from the environment
		}
	}
	goleak.VerifyTestMain(m)
}

// receiver is an OTLP backend that records the received spans.
type receiver struct {
	ptraceotlp.UnimplementedGRPCServer

	// answer returns the response to a request; nil accepts all.
	answer func(spans int) (ptraceotlp.ExportResponse, error)
	// lose reports whether the answer to an accepted request gets lost; nil loses none.
	lose func() bool

	mu      sync.Mutex
	ends    map[string]uint64 // as got
	got     map[string]int    // by trace and span ID
	service map[string]bool
	headers http.Header
	calls   int
	asked   [][]string // the span IDs of each request, in order
	changed chan struct{}
}

func newReceiver() *receiver {
	return &receiver{
		got: map[string]int{}, ends: map[string]uint64{}, service: map[string]bool{}, headers: http.Header{},
		changed: make(chan struct{}, 1),
	}
}

func (r *receiver) Export(ctx context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return r.take(http.Header(md), req.Traces())
}

func (r *receiver) take(headers http.Header, traces ptrace.Traces) (ptraceotlp.ExportResponse, error) {
	resp, err := ptraceotlp.NewExportResponse(), error(nil)
	if r.answer != nil {
		resp, err = r.answer(traces.SpanCount())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	r.headers = headers
	var asked []string
	for _, rs := range traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				asked = append(asked, s.TraceID().String()+s.SpanID().String())
			}
		}
	}
	r.asked = append(r.asked, asked)
	select {
	case r.changed <- struct{}{}:
	default:
	}
	if err != nil {
		return resp, err
	}
	for _, rs := range traces.ResourceSpans().All() {
		name, _ := rs.Resource().Attributes().Get("service.name")
		r.service[name.Str()] = true
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				r.got[s.TraceID().String()+s.SpanID().String()]++
				r.ends[s.TraceID().String()+s.SpanID().String()] = uint64(s.EndTimestamp())
			}
		}
	}
	if r.lose != nil && r.lose() {
		return resp, status.Error(codes.Unavailable, "the answer is lost")
	}
	return resp, nil
}

// ServeHTTP acts as an HTTP backend, at the standard path only.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !strings.HasSuffix(req.URL.Path, "/v1/traces") {
		http.NotFound(w, req)
		return
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	in := ptraceotlp.NewExportRequest()
	if req.Header.Get("Content-Type") == "application/json" {
		err = in.UnmarshalJSON(raw)
	} else {
		err = in.UnmarshalProto(raw)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	resp, err := r.take(req.Header, in.Traces())
	if err != nil {
		code := http.StatusBadRequest
		if status.Code(err) == codes.Unavailable {
			code = http.StatusServiceUnavailable
		}
		http.Error(w, status.Convert(err).Message(), code)
		return
	}
	out, err := resp.MarshalProto()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(out) // the client is gone
}

// sent returns the number of different spans, and the count of the most frequent one.
func (r *receiver) sent() (spans, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.got {
		most = max(most, n)
	}
	return len(r.got), most
}

// header returns a header of the latest request.
func (r *receiver) header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.headers {
		if strings.EqualFold(k, name) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// await blocks until the given number of requests has arrived.
func (r *receiver) await(t *testing.T, calls int) {
	t.Helper()
	for {
		r.mu.Lock()
		n := r.calls
		r.mu.Unlock()
		if n >= calls {
			return
		}
		select {
		case <-r.changed:
		case <-t.Context().Done():
			t.Fatalf("%d requests came, want %d", n, calls)
		}
	}
}

// serveGRPC serves r on l until the end of the test. It returns a function that stops it earlier.
func serveGRPC(t *testing.T, r *receiver, l net.Listener, opts ...grpc.ServerOption) {
	t.Helper()
	s := grpc.NewServer(opts...)
	ptraceotlp.RegisterGRPCServer(s, r)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("receiver: %v", err)
		}
	})
}

// serveHTTP serves r on l until the end of the test.
func serveHTTP(t testing.TB, r *receiver, l net.Listener) {
	t.Helper()
	s := httptest.NewUnstartedServer(r)
	s.Listener.Close() // replaced
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
}

// listen listens at an address. If the address was free for a while, a connection of another
// program may use it, so listen retries.
func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	for began := time.Now(); errors.Is(err, syscall.EADDRINUSE) &&
		time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
		l, err = net.Listen("tcp", address)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// authority creates a certificate for 127.0.0.1, and writes it and its key to files.
func authority(t *testing.T) (cert tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	cert, err = tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = write(t, "tls.crt", certPEM), write(t, "tls.key", keyPEM)
	return cert, certFile, keyFile
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, bytes.Clone(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func mutualTLS(t *testing.T, cert tls.Certificate) grpc.ServerOption {
	t.Helper()
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		MinVersion: tls.VersionTLS12,
	}))
}
