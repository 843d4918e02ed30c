// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAPI is an API server with one control-plane node, one node and one kwok node. It refuses
// forbidden requests.
type fakeAPI struct {
	*httptest.Server
	// forbidden are prefixes of paths.
	forbidden []string
	// denied are resources that the caller may not watch.
	denied    []string
	permitted string
	// ahead is the offset of its clock.
	ahead time.Duration
}

const secretFlag = "--service-account-key-file=/etc/kubernetes/pki/sa.key"

func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{}
	answers := map[string]string{
		"/version": `{"gitVersion":"v1.37.2"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list","watch"]},
			{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list","watch"]},
			{"name":"nodes","kind":"Node","verbs":["list","watch"]}]}`,
		"/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[
			{"metadata":{"name":"n1"},"status":{"nodeInfo":{"kubeletVersion":"v1.37.2",` +
			`"containerRuntimeVersion":"containerd://2.3.7"}}},
			{"metadata":{"name":"fake","annotations":{"kwok.x-k8s.io/node":"fake"}},` +
			`"status":{"nodeInfo":{"kubeletVersion":"kwok"}}}]}`,
		"/api/v1/nodes/n1/proxy/configz": `{"kubeletconfig":{"tracing":{"endpoint":"localhost:4317",` +
			`"samplingRatePerMillion":10000},"authentication":{"x509":{"clientCAFile":"ca"}}}}`,
		"/api/v1/namespaces/kube-system/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
			{"metadata":{"name":"kube-apiserver-n1","labels":{"component":"kube-apiserver"}},"spec":{"nodeName":"n1",` +
			`"containers":[{"name":"kube-apiserver",
			 "image":"registry.k8s.io/kube-apiserver:v1.37.2","command":["kube-apiserver",` +
			`"--tracing-config-file=/t.yaml","` + secretFlag + `"]}]}},
			{"metadata":{"name":"etcd-n1","labels":{"component":"etcd"}},"spec":{"nodeName":"n1",` +
			`"containers":[{"name":"etcd",
			 "image":"registry.k8s.io:5000/etcd:3.5.21-0","command":["etcd",` +
			`"--experimental-enable-distributed-tracing","--experimental-distributed-tracing-address",` +
			`"localhost:4317"]}]}}]}`,
		"/metrics": "# HELP apiserver_audit_event_total x\napiserver_audit_event_total " +
			"1200\napiserver_audit_event_total_other 7\n",
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{"kind":"SelfSubjectReview",` +
			`"apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"alice@example.com"}}}`,
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", noon.Add(f.ahead).Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/json")
		if slices.ContainsFunc(f.forbidden, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,`+
				`"message":"User \"alice@example.com\" may not"}`)
			return
		}
		if r.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
			var review struct {
				Spec struct {
					ResourceAttributes struct{ Namespace, Verb, Resource string }
				}
			}
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			a := review.Spec.ResourceAttributes
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",`+
				`"status":{"allowed":%t}}`, a.Verb != "watch" || !slices.Contains(f.denied, a.Resource) ||
				a.Namespace != "" && a.Namespace == f.permitted)
			return
		}
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,` +
				`"message":"the thing of alice@example.com is not there"}`
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeAPI) config() *rest.Config {
	c := &rest.Config{Host: f.URL, BearerToken: "hunter2"}
	c.AcceptContentTypes, c.ContentType = "application/json", "application/json"
	return c
}

func atNoon() time.Time { return noon.Add(500 * time.Millisecond) }

func TestGatherCluster(t *testing.T) {
	got := gatherCluster(t.Context(), newFakeAPI(t).config(), "", atNoon, false, nil)
	want := known(Cluster{
		Version: "v1.37.2", User: known(hashed("alice@example.com")), Clock: known(Skew{Low: -0.5, High: 0.5}),
		Nodes: known([]Node{
			{Name: "n1", Kubelet: "v1.37.2", Runtime: "containerd://2.3.7"},
			{Name: "fake", Kubelet: "kwok", Provider: Kwok},
		}),
		Kubelets: known([]Kubelet{{Node: "n1", Tracing: &Tracing{Endpoint: "localhost:4317", Rate: 10_000}}}),
		APIServers: known([]Process{
			{Node: "n1", Version: "v1.37.2", Flags: map[string]string{"tracing-config-file": "/t.yaml"}},
		}),
		Etcds: known([]Process{{Node: "n1", Version: "3.5.21-0", Flags: map[string]string{
			"enable-distributed-tracing": "true", "distributed-tracing-address": "localhost:4317",
		}}}),
		Schedulers: known([]Process{}),
		Audited:    known(1200.0), Rights: known(Rights{Resources: 2}), Webhook: known[*Webhook](nil),
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGatherUnknown: a failed request makes its fact unknown, with the reason, and keeps the
// others. No user's name is shown.
func TestGatherUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		forbidden string
		got       func(*Cluster) string
		want      string
	}{
		"Nodes": {
			"a name in the reason would be the caller's", "/api/v1/nodes", func(c *Cluster) string {
				return c.Nodes.Unknown
			}, "you may not list nodes",
		},
		"Kubelets": {
			"without nodes there is nobody to ask", "/api/v1/nodes", func(c *Cluster) string {
				return c.Kubelets.Unknown
			}, "you may not list nodes",
		},
		"Configz": {
			"few may", "/api/v1/nodes/n1", func(c *Cluster) string { return c.Kubelets.Unknown },
			"you may not get nodes/proxy (the kubelets' configuration)",
		},
		"Pods": {
			"both are read from one list", "/api/v1/namespaces", func(c *Cluster) string {
				return c.Etcds.Unknown
			}, "you may not list pods in kube-system",
		},
		"Metrics": {
			"", "/metrics", func(c *Cluster) string { return c.Audited.Unknown },
			"you may not get /metrics of the API server",
		},
		"User": {
			"", "/apis/authentication", func(c *Cluster) string { return c.User.Unknown },
			"you may not ask it for whom it takes you",
		},
		"Rights": {
			"", "/apis/authorization", func(c *Cluster) string { return c.Rights.Unknown },
			"you may not ask it what you may do",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.forbidden = []string{tc.forbidden}
			got := gatherCluster(t.Context(), f.config(), "", atNoon, false, nil)
			if !got.Is() || got.Value.Version != "v1.37.2" {
				t.Fatalf("%s: nothing is known: %+v", tc.reason, got)
			}
			if why := tc.got(&got.Value); why != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, why, tc.want)
			}
			if text := fmt.Sprintf("%+v", got); strings.Contains(text, "alice") {
				t.Errorf("the caller's name is told: %s", text)
			}
		})
	}
}

func TestGatherDenied(t *testing.T) {
	f := newFakeAPI(t)
	f.denied = []string{"pods", "secrets"}
	got := gatherCluster(t.Context(), f.config(), "", atNoon, false, nil)
	if diff := cmp.Diff(known(Rights{Resources: 2, Denied: []string{"pods"}}), got.Value.Rights); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGatherOneNamespace: a caller with rights in the own namespace alone is judged by these.
func TestGatherOneNamespace(t *testing.T) {
	for namespace, want := range map[string]Rights{
		"team":  {Namespace: "team", Resources: 1},
		"other": {Resources: 2, Denied: []string{"nodes", "pods"}},
		"":      {Resources: 2, Denied: []string{"nodes", "pods"}},
	} {
		f := newFakeAPI(t)
		f.denied, f.permitted = []string{"pods", "nodes"}, "team"
		got := gatherCluster(t.Context(), f.config(), namespace, atNoon, false, nil)
		if diff := cmp.Diff(known(want), got.Value.Rights); diff != "" {
			t.Errorf("%q: -want +got:\n%s", namespace, diff)
		}
	}
}

func TestGatherNoCluster(t *testing.T) {
	f := newFakeAPI(t)
	f.Close()
	got := gatherCluster(t.Context(), f.config(), "", atNoon, false, nil)
	if got.Is() || strings.Contains(got.Unknown, "hunter2") {
		t.Errorf("an API server that is gone told %+v", got)
	}
}

func TestSkew(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		date       string
		asked, got time.Duration
		want       Skew
		fails      bool
	}{
		"Same": {
			"whole seconds prove nothing", noon.Format(http.TimeFormat), 200 * time.Millisecond, 300 * time.Millisecond,
			Skew{-0.3, 0.8}, false,
		},
		"Ahead": {
			"at least two seconds", noon.Add(3 * time.Second).Format(http.TimeFormat), 0, time.Second, Skew{
				2, 4,
			}, false,
		},
		"Behind": {
			"at least two seconds", noon.Add(-3 * time.Second).Format(http.TimeFormat), 0, time.Second, Skew{
				-4, -2,
			}, false,
		},
		"Slow": {
			"an answer that took long says little", noon.Format(http.TimeFormat), -5 * time.Second, 5 * time.Second,
			Skew{-5, 6}, false,
		},
		"None": {"a proxy may take it away", "", 0, 0, Skew{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := skewOf(tc.date, noon.Add(tc.asked), noon.Add(tc.got))
			if (err != nil) != tc.fails || got != tc.want {
				t.Errorf("%s: %+v, %v; want %+v", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		command []string
		want    map[string]string
	}{
		"Value": {
			"as most write it", []string{"kube-apiserver", "--audit-log-path=/x"}, map[string]string{
				"audit-log-path": "/x",
			},
		},
		"Apart": {
			"some put a space", []string{"--audit-log-path", "/x", "--audit-webhook-mode"}, map[string]string{
				"audit-log-path": "/x", "audit-webhook-mode": "true",
			},
		},
		"Others": {
			"what is not asked for is not read", []string{
				"--token-auth-file=/x", "-v=4", "audit-log-path=/y",
			}, map[string]string{},
		},
		"Experimental": {
			"etcd before 3.6", []string{"--experimental-enable-distributed-tracing", "x"}, map[string]string{
				"enable-distributed-tracing": "true",
			},
		},
		"Last": {
			"the last counts", []string{"--audit-log-path=/x", "--audit-log-path=/y"}, map[string]string{
				"audit-log-path": "/y",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want,
				flagsOf(tc.command, append(slices.Clone(apiServerFlags), etcdFlags...))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKubeletIn(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text string
		want         *Kubelet
	}{
		"Told": {
			"", `{"kubeletconfig":{"tracing":{"endpoint":"e","samplingRatePerMillion":5}}}`, &Kubelet{
				Node: "n", Tracing: &Tracing{Endpoint: "e", Rate: 5},
			},
		},
		"Default": {
			"an empty section is rate 0", `{"kubeletconfig":{"tracing":{}}}`, &Kubelet{Node: "n", Tracing: &Tracing{}},
		},
		"NotTold": {"", `{"kubeletconfig":{}}`, &Kubelet{Node: "n"}},
		"Strange": {"something else answers", `{"a":1}`, nil},
		"NoJSON":  {"something else answers", `<html>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kubeletIn("n", []byte(tc.text))
			if (err != nil) != (tc.want == nil) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMetricIn(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text string
		want         float64
		fails        bool
	}{
		"Plain":  {"", "a 1\nm 2.5\n", 2.5, false},
		"Time":   {"a timestamp may follow", "m 3 1700000000000\n", 3, false},
		"Longer": {"another metric begins so, too", "m_total 4\n", 0, true},
		"None":   {"", "", 0, true},
	} {
		if got, err := metricIn(strings.NewReader(tc.text), "m"); got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %s: %g, %v", name, tc.reason, got, err)
		}
	}
}

func TestProviders(t *testing.T) {
	for name, tc := range map[string]struct {
		reason              string
		labels, annotations map[string]string
		kubelet, want       string
		serverless          bool
	}{
		"None": {
			reason: "a node of nobody's", labels: map[string]string{"kubernetes.io/hostname": "n1"}, kubelet: "v1.37.2",
		},
		"EKS": {
			reason: "a managed node group", labels: map[string]string{"eks.amazonaws.com/nodegroup": "a"}, want: EKS,
		},
		"Fargate": {
			reason: "no machine", labels: map[string]string{"eks.amazonaws.com/compute-type": "fargate"}, want: EKS,
			serverless: true,
		},
		"EKSOwn": {reason: "a node of one's own has no label", kubelet: "v1.33.1-eks-473151a", want: EKS},
		"GKE":    {reason: "", labels: map[string]string{"cloud.google.com/gke-nodepool": "a"}, want: GKE},
		"GKEOwn": {reason: "", kubelet: "v1.33.1-gke.1744000", want: GKE},
		"AKS":    {reason: "", labels: map[string]string{"kubernetes.azure.com/cluster": "a"}, want: AKS},
		"Kwok":   {reason: "nobody's node", annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, want: Kwok},
	} {
		t.Run(name, func(t *testing.T) {
			if got := providerOf(tc.labels, tc.annotations, tc.kubelet); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
			if got := serverless(tc.labels); got != tc.serverless {
				t.Errorf("%s: serverless is %t", tc.reason, got)
			}
		})
	}
}

// TestManaged: a control plane is managed if all nodes are the provider's, in any order.
func TestManaged(t *testing.T) {
	own, eks, fake := Node{}, Node{Provider: EKS}, Node{Provider: Kwok}
	for name, tc := range map[string]struct {
		reason string
		nodes  []Node
		want   string
	}{
		"All": {reason: "", nodes: []Node{eks, eks}, want: "Amazon EKS"},
		"Fargate": {
			reason: "serverless, and the provider's", nodes: []Node{{Provider: EKS, Serverless: true}},
			want: "Amazon EKS",
		},
		"Kwok": {reason: "no node at all", nodes: []Node{fake, eks}, want: "Amazon EKS"},
		"Virtual": {
			reason: "no machine, so it does not count", nodes: []Node{{Provider: AKS}, {Serverless: true}},
			want: "Azure AKS",
		},
		"OwnFirst":  {reason: "who runs the control plane?", nodes: []Node{own, eks}},
		"OwnLast":   {reason: "the same", nodes: []Node{eks, own}},
		"Two":       {reason: "the same", nodes: []Node{eks, {Provider: GKE}}},
		"OwnOnly":   {reason: "nobody's", nodes: []Node{own}},
		"NoMachine": {reason: "nothing tells", nodes: []Node{fake}},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := (&Cluster{Nodes: known(tc.nodes)}).managed()
			if m.name != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: %q, want %q", tc.reason, m.name, tc.want)
			}
		})
	}
}
