// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/jaeger"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/permission"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// visitor is a user with one role.
type visitor struct {
	name, meaning string
	// role is "view", "admin" or "cluster-admin", in these namespaces; "" stands for the whole cluster.
	role       string
	namespaces []string
	// silent means that the API server does not decide.
	silent bool
	// hidden are the marks of the objects that the cluster hides from the user.
	hidden []string
}

// The marks are parts of the names of objects.
const (
	markA, markB         = "mark-a", "mark-b"
	markNode, markSecret = "mark-node", "mark-secret"
)

const (
	namespaceA, namespaceB = "a", "b"
	everything, nobody     = "cluster-admin", "nobody"

	rolesFile = "../../../deploy/helm/lifeline/files/changes.yaml"
	apiPrefix = "/api/v1/"
)

// visitors are the columns of the table. The last one sees everything.
var visitors = []visitor{
	{name: nobody, meaning: "no certificate, no token", hidden: []string{markA, markB, markNode, markSecret}},
	{name: "stranger", meaning: "a user without a role", hidden: []string{markA, markB, markNode, markSecret}},
	{
		name: "silent", meaning: "`view` in namespace a, and the API server does not decide", role: "view",
		namespaces: []string{namespaceA}, silent: true, hidden: []string{markA, markB, markNode, markSecret},
	},
	{
		name: "a", meaning: "`view` in namespace a", role: "view", namespaces: []string{namespaceA},
		hidden: []string{markB, markNode, markSecret},
	},
	{
		name: "a admin", meaning: "`admin` in namespace a, and so Secrets, too", role: "admin",
		namespaces: []string{namespaceA}, hidden: []string{markB, markNode},
	},
	{
		name: "b", meaning: "`view` in namespace b", role: "view", namespaces: []string{namespaceB},
		hidden: []string{markA, markNode, markSecret},
	},
	{
		name: "a+b", meaning: "`admin` in each namespace, and nothing in the whole cluster, so no Nodes", role: "admin",
		namespaces: []string{namespaceA, namespaceB}, hidden: []string{markNode},
	},
	{
		name: "reader", meaning: "`view` in the whole cluster, so no Secrets", role: "view", namespaces: []string{""},
		hidden: []string{markSecret},
	},
	{name: everything, meaning: "everything", role: everything, namespaces: []string{""}},
}

// may reports whether the roles of a visitor have a right. The right to changes is that of the chart's roles.
func (v visitor) may(roles map[string][]rbacv1.PolicyRule, r permission.Right) bool {
	rules := roles["visibleChanges"] // of each user that is known, in the whole cluster
	if slices.Contains(v.namespaces, r.Namespace) || slices.Contains(v.namespaces, "") {
		if v.role == everything {
			return true
		}
		rules = append(slices.Clone(rules), roles["changes"]...)
		if v.role == "admin" {
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: []string{"", "rbac.authorization.k8s.io"}, Verbs: []string{"get"},
				Resources: []string{"secrets", "serviceaccounts", "roles", "rolebindings"},
			})
		}
	}
	resource := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Verbs, r.Verb) &&
			slices.Contains(rule.Resources, resource)
	})
}

// visited is a server with changes of two tenants, and an API server in front of it.
type visited struct {
	roles map[string][]rbacv1.PolicyRule
	url   string
	// known sends the headers of the API server under its certificate, and unknown nothing.
	known, unknown *http.Client
	// changes are the IDs of traces by what they are of, and steps a span of each.
	changes, steps map[string]string
}

// The changes of the table.
const (
	ofA, ofB, ofBoth = "namespace a", "namespace b", "a Node, with Pods of a and b"
	ofSecret, ofNode = "a Secret of a", "a Node alone"
	ofNothing        = "none: the ID is that of no change"
)

// moved moves all objects of a trace into a namespace, with a mark in their names.
func moved(t *span.Trace, namespace, mark string) *span.Trace {
	for _, s := range t.Spans {
		if s.Object != (object.Ref{}) {
			s.Object.Namespace, s.Object.Name = namespace, mark+"-"+s.Object.Name
			s.Object.UID = types.UID("uid-" + s.Object.Name)
		}
	}
	return t
}

// rolloutIn is a finished change of a Deployment.
func rolloutIn(namespace, mark string) *span.Trace {
	b := spantest.New("rollout " + mark)
	b.Pod(b.ReplicaSet(b.Deployment(nil, 0, 4000), 60, 3900), "web-6cf-x7", 90, 3800)
	return moved(b.Trace, namespace, mark)
}

// stuckIn is an open change of a Deployment.
func stuckIn(namespace, mark string) *span.Trace {
	b := spantest.New("stuck " + mark)
	b.Trace.Outcome = span.Unfinished
	b.ReplicaSet(b.Deployment(nil, 10_000, -1), 10_060, -1)
	return moved(b.Trace, namespace, mark)
}

// drained is a finished change of a Node, with a Pod of each tenant. Its second span is that of tenant a's Pod.
func drained() *span.Trace {
	t := alone("drained", markNode)
	for _, of := range [][2]string{{namespaceA, markA}, {namespaceB, markB}} {
		b := spantest.Builder{Trace: &span.Trace{ID: t.ID}}
		b.Trace.Spans = slices.Clone(t.Spans) // the IDs of spans depend on their number
		b.Pod(t.Root(), "web-6cf-x7", 100, 2900)
		added := &span.Trace{Spans: b.Trace.Spans[len(t.Spans):]}
		t.Spans = append(t.Spans, moved(added, of[0], of[1]).Spans...)
	}
	return t
}

// alone is a finished change of one object without a namespace.
func alone(name, mark string) *span.Trace {
	b := spantest.New(name)
	node := spantest.Ref("", "Node", mark)
	node.Namespace = ""
	b.Add(nil, "reconcile Node", "kubectl", node, 0, 3000).Outcome = span.Converged
	return b.Trace
}

// secret is a finished change of a Secret of tenant a.
func secret() *span.Trace {
	b := spantest.New("secret")
	b.Add(nil, "reconcile Secret", "kubectl", spantest.Ref("", "Secret", "x"), 0, 10).Outcome = span.Converged
	return moved(b.Trace, namespaceA, markSecret)
}

// tenantProblems are two problems, one of each tenant.
func tenantProblems(at time.Time) *api.ProblemHub {
	tracker := problem.NewTracker("cluster-1")
	for _, t := range []*span.Trace{stuckIn(namespaceA, markA), stuckIn(namespaceB, markB)} {
		tracker.Lacks(&problem.Failing{
			Object: t.Root().Object, Category: "image_not_found", Text: "cannot pull its image", Rank: 2,
			Key:   problem.Grouping{Category: "image_not_found", Of: t.Root().Object.Name},
			Onset: problem.Onset{At: at.Add(-time.Minute)}, Next: "lifeline why",
		}, at)
	}
	h := &api.ProblemHub{}
	h.Publish(tracker.Snapshot(at))
	return h
}

// visit serves the changes of the table.
func visit(t *testing.T) *visited {
	t.Helper()
	text, err := os.ReadFile(rolesFile)
	must(t, err)
	s := &visited{changes: map[string]string{}, steps: map[string]string{}}
	must(t, yaml.UnmarshalStrict(text, &s.roles))

	now := spantest.Epoch.Add(time.Minute)
	clock := func() time.Time { return now }
	finished := map[string]*span.Trace{
		ofA: rolloutIn(namespaceA, markA), ofB: rolloutIn(namespaceB, markB), ofBoth: drained(), ofSecret: secret(),
		ofNode: alone("alone", markNode+"-2"),
	}
	all := viewtest.Traces{Open: []*span.Trace{stuckIn(namespaceA, markA), stuckIn(namespaceB, markB)}}
	hub := &api.Hub{}
	var updates []api.Update
	for of, one := range finished {
		all.Finished = append(all.Finished, one)
		updates = append(updates, api.Update{Trace: one, AsOf: now})
		step := one.Root()
		if of == ofBoth {
			step = one.Spans[1] // the Pod of tenant a
		}
		s.changes[of], s.steps[of] = one.ID.String(), step.ID.String()
	}
	s.changes[ofNothing], s.steps[ofNothing] = strings.Repeat("f", 32), strings.Repeat("f", 16)
	for _, one := range all.Open {
		updates = append(updates, api.Update{Trace: one, Open: true, AsOf: now})
	}
	v := viewtest.New(t)
	v.Cluster = "cluster-1"
	v.Put(t, now, all)
	hub.Publish(updates)

	p := &permitting{
		gate: store.NewGate(v, v.Project), audits: func() bool { return false }, now: clock,
		log:      slog.New(slog.DiscardHandler),
		reviewer: permission.New(permission.Options{Review: s.review, Namespaces: v.Namespaces}),
	}
	answers, err := api.New(api.Options{
		Access: p.access, Hub: hub, Cluster: "cluster-1", Problems: tenantProblems(now), Clock: clock,
		Sources: func() api.Sources { return api.Sources{} },
		Runs:    http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		Others:  jaeger.Handlers(jaeger.Options{Access: p.access, Cluster: "cluster-1", Clock: clock}),
	})
	must(t, err)
	ca, cert := ownCertificate(t)
	callers := identity.New(identity.Options{Doors: []identity.Door{
		identity.Discovery(identity.Pool(func() *x509.CertPool { return ca }), nil),
	}})
	guards := &rights{permitting: p, callers: callers, aggregated: callers, listener: &listening{}}
	g := &gate{page: http.NotFoundHandler(), metrics: newAPIMetrics(prometheus.NewRegistry())}
	g.open(guards.guard(answers))
	guards.behind(g, answers, kubeapi.Options{AsOf: hub.AsOf, Clock: clock})
	mux := http.NewServeMux()
	mux.Handle("/", g)
	mux.Handle("/apis/", guards.listener.handler)
	srv := httptest.NewUnstartedServer(mux)
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	srv.StartTLS()
	s.url, s.unknown = srv.URL, srv.Client()
	with := srv.Client().Transport.(*http.Transport).Clone() //nolint:forcetypeassert // that of httptest
	with.TLSClientConfig.Certificates = []tls.Certificate{cert}
	s.known = &http.Client{Transport: with}
	t.Cleanup(func() {
		_ = answers.Close()
		with.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

// ownCertificate returns a client certificate, and the pool with its authority, which is itself.
func ownCertificate(t *testing.T) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lifeline API"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return pool, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// review is the API server's decision about a right of a visitor.
func (s *visited) review(_ context.Context, u user.Info, r permission.Right) (bool, error) {
	i := slices.IndexFunc(visitors, func(v visitor) bool { return v.name == u.GetName() })
	if i < 0 || visitors[i].silent {
		return false, errors.New("no answer")
	}
	return visitors[i].may(s.roles, r), nil
}

// answered is the answer to a request. A stream has the events of its beginning, sorted.
type answered struct {
	code int
	body string
}

// throughAPIServer is the beginning of the paths that the API server checks before it hands them on.
const throughAPIServer = kubeapi.Root + "/"

// ask sends a request as a visitor: through the API server, if the path is one of its own.
func (s *visited) ask(t *testing.T, v visitor, path string) answered {
	t.Helper()
	if rest, is := strings.CutPrefix(path, throughAPIServer); is {
		switch {
		case v.name == nobody:
			return answered{code: http.StatusUnauthorized}
		case !v.may(s.roles, rightOf(rest)):
			return answered{code: http.StatusForbidden}
		}
	}
	return s.send(t, v, path)
}

// rightOf returns the right for which the API server asks, by a path below the root of the group.
func rightOf(path string) permission.Right {
	path, query, _ := strings.Cut(path, "?")
	r := permission.Right{Group: permission.Group, Verb: "list"}
	parts := strings.Split(path, "/")
	if parts[0] == "namespaces" {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	switch {
	case len(parts) > 1:
		r.Verb = "get"
	case strings.Contains(query, "watch=true"):
		r.Verb = "watch"
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	return r
}

// send sends a request to the server itself.
func (s *visited) send(t *testing.T, v visitor, path string) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if path == apiPrefix+"runs" {
		method, body = http.MethodPost, strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	must(t, err)
	client := s.unknown
	if v.name != nobody {
		client = s.known
		req.Header.Set(identity.UserHeader, v.name)
		req.Header.Set(identity.GroupHeader, user.AllAuthenticated)
	}
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	out := answered{code: res.StatusCode}
	streams := res.Header.Get("Content-Type") == "text/event-stream" || strings.Contains(path, "watch=true")
	if !streams || out.code != http.StatusOK {
		text, err := io.ReadAll(res.Body)
		must(t, err)
		out.body = string(text)
		return out
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	var lines []string
	for ended := false; !ended && in.Scan(); {
		line := in.Text()
		ended = strings.Contains(line, "BOOKMARK") || strings.HasPrefix(line, "data: ") && slices.ContainsFunc(
			lines[max(0, len(lines)-1):], func(event string) bool {
				return event == "event: synced" || event == "event: problems"
			})
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out.body = strings.Join(lines, "\n")
	return out
}
