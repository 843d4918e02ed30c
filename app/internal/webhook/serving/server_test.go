// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// logged is a log that can be read during writes.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// served is an Server on loopback with TLS.
type served struct {
	*Server
	address string
	conf    atomic.Pointer[config.WebhookConfiguration]
	log     *logged
	ca      *httpservetest.Authority
	files   httpserve.TLS
	stop    func()

	registry *prometheus.Registry
}

var openOwner = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{7}, SpanID: trace.SpanID{7}, TraceFlags: trace.FlagsSampled, Remote: true,
})

func newServed(tb testing.TB) *served {
	tb.Helper()
	s := &served{log: new(logged), ca: httpservetest.New(tb), registry: prometheus.NewRegistry()}
	c := config.Default().Webhook
	s.conf.Store(&c)
	s.Server = New(Options{
		Config: func() config.WebhookConfiguration { return *s.conf.Load() },
		Sample: func(id trace.TraceID) bool { return id[0]&1 == 0 },
		Open: func(namespace string, uid types.UID) (trace.SpanContext, bool) {
			return openOwner, namespace == "demo" && uid == "open"
		},
		Registerer: s.registry,
		Log:        slog.New(slog.NewTextHandler(s.log, nil)),
	})
	s.files = s.ca.Files(tb, nil)
	s.start(tb, "127.0.0.1:0")
	return s
}

// start serves on an address until stop is called or the test ends.
func (s *served) start(tb testing.TB, address string) {
	tb.Helper()
	ln, err := s.Listen(tb.Context(), httpserve.Endpoint{Address: address, TLS: s.files})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	s.address = ln.Addr().String()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() { s.stop() })
}

// client returns a client like an API server's, with HTTP/1.1 and kept connections.
func (s *served) client(tb testing.TB) *http.Client {
	tb.Helper()
	tr := &http.Transport{TLSClientConfig: s.ca.Trusting(), MaxIdleConnsPerHost: 25}
	tr.TLSClientConfig.NextProtos = []string{"http/1.1"}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// metric returns the value of a metric in a scrape; "" if it is missing.
func (s *served) metric(tb testing.TB, name string) string {
	tb.Helper()
	h := telemetry.Handler(telemetry.HandlerOptions{Metrics: s.registry, Health: new(telemetry.Health)})
	w := &answer{header: http.Header{}}
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		tb.Fatal(err)
	}
	h.ServeHTTP(w, r)
	for line := range strings.Lines(w.String()) {
		if rest, found := strings.CutPrefix(line, "lifeline_admission_"+name+" "); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

type answer struct {
	bytes.Buffer
	header http.Header
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(int)     {}

// review returns a review of a Pod's creation. owner is the UID of its controller owner, and
// metadata is additional JSON.
func reviewOf(user, groups, owner, metadata string) string {
	owners := ""
	if owner != "" {
		owners = fmt.Sprintf(`, "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Head", "name": "head", `+
			`"uid": %q, "controller": true}]`, owner)
	}
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "call", `+
		`"operation": "CREATE",
		"kind": {"group": "", "version": "v1", "kind": "Pod"}, "name": "p", "namespace": "demo", `+
		`"userInfo": {"username": %q, "groups": [%s]},
		"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"%s%s}, "spec": {"containers": []}}}}`,
		user, groups, owners, metadata)
}

const foreign = `, "annotations": {"trace.kubernetes.io/context": ` +
	`"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`

// post sends a body, and returns the response as the API server reads it.
func post(client *http.Client, address, path, text string) (*admissionv1.AdmissionResponse, int, error) {
	resp, err := client.Post("https://"+address+path, "application/json", strings.NewReader(text))
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode, err
	}
	var r admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, resp.StatusCode, err
	}
	if r.Response == nil || !r.Response.Allowed {
		return nil, resp.StatusCode, errors.New("it is not allowed")
	}
	return r.Response, resp.StatusCode, nil
}

func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		conf        config.WebhookConfiguration
		user, group string
		owner       string
		metadata    string
		evidence    string // of a new context; "" if there is none
		patched     bool
		refused     bool
	}{
		"new":              {reason: "a trace begins", user: "ann", evidence: "none", patched: true},
		"of an open owner": {reason: "C3", user: "op", owner: "open", evidence: "owner", patched: true},
		"of another owner": {reason: "the engine decides", user: "op", owner: "done"},
		"supplied":         {reason: "anyone may", user: "ann", metadata: foreign},
		"supplied, no suppliers": {
			reason: "it is replaced", conf: config.WebhookConfiguration{Suppliers: config.SuppliersNobody}, user: "ann",
			metadata: foreign, evidence: "none", patched: true, refused: true,
		},
		"supplied, in group": {
			reason: "it may", conf: config.WebhookConfiguration{Suppliers: config.SuppliersGroups,
				SupplierGroups: []string{"ci"}}, user: "ann", group: `"ci"`, metadata: foreign,
		},
		"supplied, not in": {
			reason: "it may not",
			conf:   config.WebhookConfiguration{Suppliers: config.SuppliersGroups, SupplierGroups: []string{"ci"}},
			user:   "ann", group: `"dev"`, metadata: foreign, evidence: "none", patched: true, refused: true,
		},
		"copied by a controller": {
			reason: "it would copy it again and again", conf: config.WebhookConfiguration{
				Suppliers: config.SuppliersNobody,
			},
			user: "system:serviceaccount:kube-system:deployment-controller", metadata: foreign,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			if tc.conf.Suppliers != "" {
				s.conf.Store(&tc.conf) // reloaded while it runs
			}
			r, code, err := post(
				s.client(t),
				s.address,
				"/admission",
				reviewOf(tc.user, tc.group, tc.owner, tc.metadata),
			)
			if err != nil || r == nil {
				t.Fatalf("%s: got %d, %v", tc.reason, code, err)
			}
			if (r.Patch != nil) != tc.patched || (r.AuditAnnotations["refused"] != "") != tc.refused {
				t.Errorf("%s: patch %s, audit %v", tc.reason, r.Patch, r.AuditAnnotations)
			}
			for _, evidence := range []string{"none", "owner", "request"} {
				want := ""
				if evidence == tc.evidence {
					want = "1"
				}
				if got := s.metric(t, fmt.Sprintf("contexts_total{evidence=%q}", evidence)); got != want {
					t.Errorf("%s: %q were given by %s", tc.reason, got, evidence)
				}
			}
			if s.metric(t, "reviews_total") != "1" || s.metric(t, "seconds_count") != "1" ||
				(s.metric(t, "refused_contexts_total") == "1") != tc.refused {
				t.Errorf("%s: it counts %s reviews, %s times, %s refused", tc.reason, s.metric(t, "reviews_total"),
					s.metric(t, "seconds_count"), s.metric(t, "refused_contexts_total"))
			}
			if tc.refused != strings.Contains(s.log.String(), `user=ann`) {
				t.Errorf("%s: the log is:\n%s", tc.reason, s.log)
			}
		})
	}
}

// TestRefusedOften: frequent attempts neither fill the log nor inject text into it.
func TestRefusedOften(t *testing.T) {
	s := newServed(t)
	s.conf.Store(&config.WebhookConfiguration{Suppliers: config.SuppliersNobody})
	client := s.client(t)
	for range 20 {
		user := `mallory` + strings.Repeat("x", 3000) + `\u001b[31m\nlevel=ERROR`
		text := strings.Replace(reviewOf("ann", "", "", foreign), `"ann"`, `"`+user+`"`, 1)
		if _, code, err := post(client, s.address, "/admission", text); code != http.StatusOK || err != nil {
			t.Fatal(code, err)
		}
	}
	if got := s.log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") || len(got) > 2000 ||
		!strings.Contains(got, "mallory") {
		t.Errorf("the log is:\n%s", got)
	}
	if got := s.metric(t, "refused_contexts_total"); got != "20" {
		t.Errorf("%s are counted", got)
	}
}

// TestBug: a panic costs one context, and is logged once with its location.
func TestBug(t *testing.T) {
	s := newServed(t)
	s.conf.Store(nil) // impossible otherwise; it panics
	client := s.client(t)
	for range 3 {
		r, code, err := post(client, s.address, "/admission", reviewOf("ann", "", "", foreign))
		if err != nil || r == nil || r.Patch != nil {
			t.Errorf("got %d, %v, %+v", code, err, r)
		}
	}
	if got := s.log.String(); strings.Count(got, "met a bug") != 1 || !strings.Contains(got, "trusts") {
		t.Errorf("the log is:\n%s", got)
	}
	if got := s.metric(t, "failed_total"); got != "3" {
		t.Errorf("%s are counted", got)
	}
}

// TestManyAtOnce: concurrent requests of API servers are all answered.
func TestManyAtOnce(t *testing.T) {
	s := newServed(t)
	client := s.client(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				if r, code, err := post(client, s.address, "/admission", reviewOf("op", "", "open", "")); err != nil ||
					r == nil || r.Patch == nil {
					t.Errorf("got %d, %v", code, err)
				}
			}
		})
	}
	all.Wait()
	if got := s.metric(t, `contexts_total{evidence="owner"}`); got != "320" {
		t.Errorf("%s are counted", got)
	}
}

// TestAgain: a restarted server listens on the same address.
func TestAgain(t *testing.T) {
	s := newServed(t)
	client := s.client(t)
	address := s.address
	for i := range 3 {
		if _, code, err := post(client, address, "/admission", reviewOf("ann", "", "", "")); code != http.StatusOK ||
			err != nil {
			t.Fatalf("start %d: %d, %v", i, code, err)
		}
		s.stop()
		if _, code, err := post(client, address, "/admission", "{}"); err == nil {
			t.Fatalf("after its end it answers %d", code)
		}
		s.start(t, address)
	}
	if _, err := s.Listen(t.Context(), httpserve.Endpoint{Address: address, TLS: s.files}); err == nil ||
		!strings.Contains(err.Error(), "cannot listen for admission reviews") ||
		!strings.Contains(err.Error(), address) {
		t.Errorf("an address in use gives %v", err)
	}
}

// TestCertificates: certificates are renewed while it serves. An expired one is logged and still
// served.
func TestCertificates(t *testing.T) {
	s := newServed(t)
	other := httpservetest.New(t)
	shown := func(ca *httpservetest.Authority) (serial int64, err error) {
		conn, err := (&tls.Dialer{Config: ca.Trusting()}).DialContext(t.Context(), "tcp", s.address)
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
	}
	write := func(cert, key []byte) {
		httpservetest.Write(t, s.files.CertFile, cert)
		httpservetest.Write(t, s.files.KeyFile, key)
	}
	if serial, err := shown(s.ca); serial != 2 || err != nil {
		t.Errorf("the first is %d, %v", serial, err)
	}
	write(other.Pair(t, 5))
	if serial, err := shown(other); serial != 5 || err != nil {
		t.Errorf("the second is %d, %v", serial, err)
	}
	write(other.PairUntil(t, 6, time.Now().Add(-time.Hour)))
	if _, err := shown(other); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired one gives %v", err)
	}
	if got := s.log.String(); strings.Count(got, "it has expired on") != 1 || !strings.Contains(got, s.files.CertFile) {
		t.Errorf("the log is:\n%s", got)
	}
	write(other.Pair(t, 7))
	if serial, err := shown(other); serial != 7 || err != nil {
		t.Errorf("the last is %d, %v", serial, err)
	}
}

// TestShutdown: open requests are answered during a shutdown.
func TestShutdown(t *testing.T) {
	s := newServed(t)
	text := reviewOf("ann", "", "", "")
	conn, err := (&tls.Dialer{Config: s.ca.Trusting()}).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
		"%d\r\nExpect: 100-continue\r\n\r\n", len(text))
	first := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(conn, first); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { s.stop(); close(stopped) }()
	for { // until connections are refused
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	fmt.Fprint(conn, text)
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK") {
		t.Errorf("it is answered %q, %v", answer, err)
	}
	<-stopped
}
