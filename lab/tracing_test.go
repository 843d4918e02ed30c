// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Contexts of callers who record their traces, and who do not.
const (
	recorded    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	notRecorded = "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00"
)

const (
	// many requests are enough for some to be recorded at a rate of 1 %: that
	// none is has a probability of 3 in ten millions.
	many = 1500
	// few leave room in the queue of spans to send, which holds 2048: what does
	// not fit is lost.
	few = 50
)

// tracingState is a component's configuration, and the expected number of recorded traces among
// those that it begins.
type tracingState struct {
	name            string
	tracing         *Tracing // nil: no configuration
	of, least, most int
}

// tracingStates are all kinds of them, in the order in which a test goes
// through them: the last shows that what the first did not record is not just
// late.
func tracingStates(endpoint string) []tracingState {
	at := func(rate int32) *Tracing { return &Tracing{Endpoint: endpoint, SamplingRatePerMillion: rate} }
	return []tracingState{
		{"none", nil, few, 0, 0},
		{"zero", at(0), few, 0, 0},
		{"one percent", at(EveryTrace / 100), many, 1, many / 10},
		{"all", at(EveryTrace), few, few, few},
	}
}

// apply gives the components that tracing, and takes it from the others.
func (s tracingState) apply(t *testing.T, c *Cluster, components ...Component) {
	t.Helper()
	if err := c.Reconfigure(t.Context(), func(o *Options) {
		o.Tracing = nil
		if s.tracing != nil {
			o.Tracing = s.tracing.Of(components...)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// check reports a number of recorded traces that the state does not explain.
func (s tracingState) check(t *testing.T, what string, n int) {
	t.Helper()
	if n < s.least || n > s.most {
		t.Errorf("%s: %d of %d %s are recorded, want %d to %d", s.name, n, s.of, what, s.least, s.most)
	}
}

// requester makes requests of one user, who may send a trace context.
type requester struct {
	cluster *Cluster
	client  *http.Client
}

func (c *Cluster) requester(t *testing.T, user string, groups ...string) requester {
	t.Helper()
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.authority.CA())
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs:      pool,
			Certificates: []tls.Certificate{cert},
			MinVersion:   tls.VersionTLS12,
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return requester{c, &http.Client{Transport: transport}}
}

// get requests a missing object n times: the API server then has to request it from etcd.
func (r requester) get(t *testing.T, n int, path, traceparent string) {
	t.Helper()
	for range n {
		if status := r.status(t, path, traceparent); status != http.StatusNotFound {
			t.Fatalf("GET %s: status %d", path, status)
		}
	}
}

// authorized waits until the API server has the caller's rights. Its authorizer receives a role
// binding from a watch, also after a restart.
func (r requester) authorized(t *testing.T, path string) {
	t.Helper()
	eventually(t, func() error {
		if status := r.status(t, path, ""); status != http.StatusNotFound {
			return fmt.Errorf("GET %s: status %d", path, status)
		}
		return nil
	})
}

func (r requester) status(t *testing.T, path, traceparent string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.cluster.ServerURL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// all returns the spans of a service that want accepts.
func (r *receiver) all(service string, want func(*trace.Span) bool) []*trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans[service]), func(s *trace.Span) bool { return !want(s) })
}

// targets accepts the API server's spans of requests for a path.
func targets(path string) func(*trace.Span) bool {
	return func(s *trace.Span) bool {
		return slices.ContainsFunc(s.GetAttributes(), func(a *common.KeyValue) bool {
			return a.GetKey() == "http.target" && a.GetValue().GetStringValue() == path
		})
	}
}

// ofCaller accepts spans of the trace that a context is of.
func ofCaller(traceparent string) func(*trace.Span) bool {
	return func(s *trace.Span) bool { return fmt.Sprintf("%x", s.GetTraceId()) == traceparent[3:35] }
}

// TestTracingOfControlPlane: in each state of its configuration, the API server records the right
// traces of a trusted and an untrusted caller, and etcd follows.
func TestTracingOfControlPlane(t *testing.T) {
	slow(t)
	spans, endpoint := receive(t)
	c := start(t, Options{Nodes: NodesNone})
	kubectl(t, c, "", "create", "rolebinding", "eve", "--clusterrole=view", "--user=eve")
	admin, eve := c.requester(t, "root", adminGroup), c.requester(t, "eve")
	path := func(s tracingState, mark string) string {
		return "/api/v1/namespaces/default/configmaps/" + strings.ReplaceAll(s.name, " ", "-") + "." + mark
	}
	states := tracingStates(endpoint)
	for _, s := range states {
		s.apply(t, c, APIServer, Etcd)
		eve.authorized(t, path(s, "authorized"))
		eve.get(t, s.of, path(s, "untrusted"), recorded)
		admin.get(t, s.of, path(s, "alone"), "")
		admin.get(t, 1, path(s, "not-recorded"), notRecorded)
		admin.get(t, 1, path(s, "recorded"), recorded)
		if s.tracing == nil {
			continue
		}
		// Spans come in the order of their ends, so all others are there.
		eventually(t, func() error {
			if n := len(spans.all("apiserver", targets(path(s, "recorded")))); n != 1 {
				return fmt.Errorf("%s: %d spans of the request whose caller records", s.name, n)
			}
			return nil
		})
	}
	for _, s := range states {
		s.check(t, "requests without a context", len(spans.all("apiserver", targets(path(s, "alone")))))
		untrusted := spans.all("apiserver", targets(path(s, "untrusted")))
		s.check(t, "requests with a context that is not trusted", len(untrusted))
		for _, span := range untrusted {
			if len(span.GetParentSpanId()) > 0 || len(span.GetLinks()) != 1 ||
				fmt.Sprintf("%x", span.GetLinks()[0].GetTraceId()) != recorded[3:35] {
				t.Fatalf(
					"%s: the span of a caller who is not trusted is no root with a link to the caller: %v",
					s.name,
					span,
				)
			}
		}
		if n := len(spans.all("apiserver", targets(path(s, "not-recorded")))); n != 0 {
			t.Errorf("%s: %d spans of a request whose caller does not record", s.name, n)
		}
	}
	// One request of the trusted caller in each state but the first.
	eventually(t, func() error {
		if n := len(spans.all("etcd", ofCaller(recorded))); n != len(states)-1 {
			return fmt.Errorf("%d spans of etcd below those of the API server, want %d", n, len(states)-1)
		}
		return nil
	})
}

// TestTracingOfEtcdAlone: without a tracing configuration the API server
// passes the caller's context on, and etcd uses it.
func TestTracingOfEtcdAlone(t *testing.T) {
	slow(t)
	const path = "/api/v1/namespaces/default/configmaps/none"
	spans, endpoint := receive(t)
	c := start(t, Options{Nodes: NodesNone})
	admin := c.requester(t, "root", adminGroup)
	for i, s := range tracingStates(endpoint) {
		if s.tracing == nil {
			continue
		}
		before := len(spans.all("etcd", isRoot))
		s.apply(t, c, Etcd)
		admin.get(t, s.of, path, "")
		admin.get(t, 1, path, recorded)
		eventually(t, func() error {
			if n := len(spans.all("etcd", ofCaller(recorded))); n != i {
				return fmt.Errorf("%s: %d spans of the requests whose caller records, want %d", s.name, n, i)
			}
			return nil
		})
		n := len(spans.all("etcd", isRoot)) - before
		if s.least == s.of { // the API server also sends its own requests
			n = min(n, s.of)
		}
		s.check(t, "requests without a context", n)
	}
}

func isRoot(s *trace.Span) bool {
	return len(s.GetParentSpanId()) == 0 && s.GetName() == "etcdserverpb.KV/Range"
}
