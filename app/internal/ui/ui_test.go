// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// cluster is an API server with Pods, whose ports it forwards to `behind`.
type cluster struct {
	*httptest.Server
	t      *testing.T
	behind string
	pods   []corev1.Pod
	// port is the expected port of the Pods.
	port string

	mu sync.Mutex
	// asked are the Pods that were forwarded to, and open the connections.
	asked []string
	open  []httpstream.Connection
}

func newCluster(t *testing.T, behind string, pods ...corev1.Pod) *cluster {
	t.Helper()
	c := &cluster{t: t, behind: behind, pods: pods, port: "7070"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods", func(w http.ResponseWriter, r *http.Request) {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if r.PathValue("namespace") == Namespace && r.URL.Query().Get("labelSelector") == selector {
			list.Items = c.pods
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	mux.HandleFunc("/api/v1/namespaces/{namespace}/pods/{name}/portforward", c.forward)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		c.cut()
		c.Server.Close()
	})
	return c
}

// forward serves a port-forward over SPDY. It has no WebSocket, as older API servers.
func (c *cluster) forward(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "websocket" {
		http.Error(w, "unknown", http.StatusForbidden)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		c.t.Error(err)
		return
	}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		if s.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
			return nil
		}
		if got := s.Headers().Get(corev1.PortHeader); got != c.port {
			c.t.Errorf("port %s of the Pod, want %s", got, c.port)
		}
		to, err := net.Dial("tcp", c.behind)
		if err != nil {
			return err
		}
		go func() {
			defer to.Close()
			_, _ = io.Copy(to, s)
		}()
		go func() {
			defer s.Close()
			_, _ = io.Copy(s, to)
		}()
		return nil
	})
	if conn == nil {
		c.t.Error("no upgrade")
		return
	}
	c.mu.Lock()
	c.asked, c.open = append(c.asked, r.PathValue("name")), append(c.open, conn)
	c.mu.Unlock()
	<-conn.CloseChan()
}

// cut closes all connections.
func (c *cluster) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

func (c *cluster) kubeconfig() *proxy.Kubeconfig {
	c.t.Helper()
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: c.URL}
	raw.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
	raw.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	raw.CurrentContext = "x"
	k, err := proxy.LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), proxy.Overrides{})
	if err != nil {
		c.t.Fatal(err)
	}
	return k
}

func pod(name string, ready corev1.ConditionStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}

// command returns a UI with its outputs.
func command(env ...string) (u *UI, out, talk *bytes.Buffer) {
	out, talk = &bytes.Buffer{}, &bytes.Buffer{}
	u = &UI{
		Options:    cli.Options{Streams: genericiooptions.IOStreams{Out: out, ErrOut: talk}},
		Namespaces: []string{Namespace},
	}
	u.Environ = env
	return u, out, talk
}

// TestForward: the page of a server in the cluster opens through a port-forward, which survives the
// loss of its connection.
func TestForward(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "the page")
	}))
	defer page.Close()
	c := newCluster(t, page.Listener.Addr().String(), pod("lifeline-0", "False"), pod("lifeline-1", "True"))
	u, out, talk := command()
	u.Kubeconfig = c.kubeconfig()
	u.Server = cli.Server{Direct: true} // a developer may have a server on this machine
	opened := make(chan string, 1)
	u.Browse = func(_ context.Context, url string) error {
		opened <- url
		return nil
	}
	signals := make(chan os.Signal, 1)
	u.Signals = signals
	ended := make(chan error, 1)
	go func() {
		_, err := u.Run(t.Context())
		ended <- err
	}()
	var url string
	select {
	case url = <-opened:
	case err := <-ended:
		t.Fatalf("it ended: %v\n%s", err, talk)
	}
	if got := read(t, url); got != "the page" {
		t.Errorf("%s has %q", url, got)
	}
	if out.String() != url+"\n" {
		t.Errorf("printed %q, want the URL %s", out, url)
	}
	c.cut()
	eventually(t, func() bool {
		response, err := web.Get(url)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	c.mu.Lock()
	if len(c.asked) < 2 || c.asked[0] != "lifeline-1" {
		t.Errorf("forwarded to %v, want lifeline-1, which is ready, twice", c.asked)
	}
	c.mu.Unlock()
	signals <- os.Interrupt
	if err := <-ended; err != nil {
		t.Errorf("after a signal: %v", err)
	}
}

// TestForwardToAnotherPort: a port without an answer is named, with the flag for another one.
func TestForwardToAnotherPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close() // nothing listens there
	c := newCluster(t, ln.Addr().String(), pod("lifeline-0", "True"))
	c.port = "8443"
	u, _, talk := command()
	u.Kubeconfig, u.RemotePort, u.Server = c.kubeconfig(), 8443, cli.Server{Direct: true}
	signals := make(chan os.Signal, 1)
	u.Signals = signals
	u.Browse = func(context.Context, string) error {
		signals <- os.Interrupt
		return nil
	}
	if _, err := u.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if got := talk.String(); !strings.Contains(got, "port 8443 of the Pod does not answer") ||
		!strings.Contains(got, "--remote-port") {
		t.Errorf("got %q", got)
	}
}

var web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func read(t *testing.T, url string) string {
	t.Helper()
	response, err := web.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing after 20 s")
		}
	}
}

// TestNoServer: without a server on this machine and in the cluster, the command starts one.
func TestNoServer(t *testing.T) {
	pending := newCluster(t, "", pod("lifeline-0", "True"))
	pending.pods[0].Status.Phase = corev1.PodPending
	running := newCluster(t, "", pod("lifeline-0", "True"))
	down := newCluster(t, "")
	down.Close()
	for name, tc := range map[string]struct {
		reason    string
		cluster   *cluster
		namespace string
		here      bool
		want      string
	}{
		"no kubeconfig": {"there is no cluster to watch", nil, Namespace, false, "no kubeconfig for a cluster"},
		"pending":       {"its port cannot be forwarded", pending, Namespace, false, ""},
		"elsewhere":     {"the namespace is another", running, "other", false, ""},
		"here":          {"the user wants a server in this process", running, Namespace, true, ""},
		"down": {
			"the cluster does not answer", down, Namespace, false,
			"cannot use the cluster of context x (" + down.URL + "): dial tcp ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, out, talk := command()
			u.Server, u.Namespaces = cli.Server{Direct: true}, []string{tc.namespace}
			u.Here, u.Watched = tc.here, "shop"
			if tc.cluster != nil {
				u.Kubeconfig = tc.cluster.kubeconfig()
			}
			signals := make(chan os.Signal, 1)
			u.Signals = signals
			var got Own
			u.Serve = func(ctx context.Context, o Own) error {
				got = o
				o.Opened("http://127.0.0.1:1")
				<-ctx.Done()
				return nil
			}
			u.Browse = func(context.Context, string) error {
				signals <- os.Interrupt
				return nil
			}
			code, err := u.Run(t.Context())
			if tc.want != "" {
				if code == cli.CodeOK || err == nil || !strings.Contains(err.Error(), tc.want) || out.Len() > 0 {
					t.Errorf("%v, want an error with %q: %s; printed %q", err, tc.want, tc.reason, out)
				}
				return
			}
			if err != nil {
				t.Fatal(tc.reason, err)
			}
			if got.Namespace != "shop" || got.Address != "127.0.0.1:7070" || !got.FreePort {
				t.Errorf("%s: started %+v", tc.reason, got)
			}
			const said = `lifeline: no server for context x: starting one, for namespace shop; Ctrl-C ends it
lifeline: port 7070 is in use by another program: the page has another port
lifeline: all is stored; the next "lifeline ui" continues from here
`
			if out.String() != "http://127.0.0.1:1\n" || talk.String() != said {
				t.Errorf("%s: printed %q, said\n%s", tc.reason, out, talk)
			}
		})
	}
}

// TestOtherTerminal: of two commands at the same time one has the data, and the other one shows its page. An error of
// the log is printed unless it is about that.
func TestOtherTerminal(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":"1","cluster":"c"}`)
	}))
	defer page.Close()
	u, out, talk := command()
	u.Kubeconfig = newCluster(t, "").kubeconfig()
	u.Server, u.Namespaces, u.NoBrowser = cli.Server{Direct: true}, []string{Namespace}, true
	u.Signals = make(chan os.Signal)
	u.Serve = func(_ context.Context, o Own) error {
		_, _ = io.WriteString(o.Log, `{"level":"ERROR","msg":"another lifeline serve has this data directory"}`+"\n")
		u.Server, u.Environ = cli.Server{}, []string{cli.EnvServer + "=" + page.URL} // it is there now
		return fmt.Errorf("cannot open: %w", store.ErrInUse)
	}
	if code, err := u.Run(t.Context()); err != nil || code != cli.CodeOK {
		t.Fatal(code, err)
	}
	if out.String() != page.URL+"\n" || strings.Contains(talk.String(), "another lifeline") {
		t.Errorf("printed %q, said\n%s", out, talk)
	}
	talk.Reset()
	u.Server = cli.Server{Direct: true}
	u.Serve = func(_ context.Context, o Own) error {
		_, _ = io.WriteString(o.Log, `{"level":"ERROR","msg":"cannot store","error":"disk full","do":"make room"}`+"\n")
		return errors.New("ended")
	}
	if _, err := u.Run(t.Context()); err == nil || err.Error() != "ended" {
		t.Errorf("got %v", err)
	}
	if !strings.HasSuffix(talk.String(), "\nlifeline: cannot store: disk full: make room\n") {
		t.Errorf("said\n%s", talk)
	}
}

func TestState(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		info  api.Info
		watch api.WatchSource
		want  string
	}{
		"reading": {api.Info{}, api.WatchSource{}, "reading namespace shop|"},
		"changes": {
			api.Info{WatchingSince: &now, Stats: api.Stats{Traces: 14, Open: 2}}, api.WatchSource{},
			"watching namespace shop|: 14 changes, 2 open",
		},
		"one change": {
			api.Info{WatchingSince: &now, Stats: api.Stats{Traces: 1}},
			api.WatchSource{Unreadable: []string{"pods\x1b"}},
			`watching namespace shop without pods\x1b, which you may not read|: 1 change`,
		},
		"few rights": {
			api.Info{WatchingSince: &now}, api.WatchSource{Unreadable: []string{"a", "b"}},
			"watching namespace shop without 2 kinds that you may not read (-v lists them)|: 0 changes",
		},
		"outage": {
			api.Info{WatchingSince: &now}, api.WatchSource{Lag: api.Seconds(11 * time.Second)},
			"the cluster does not answer: the page has what is stored, and the rest follows later|",
		},
	} {
		head, rest := stateOf(&tc.info, &tc.watch, "namespace shop")
		if got := head + "|" + rest; got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestStateLine: on a terminal the line is written again in its place; elsewhere only another head is a new line.
func TestStateLine(t *testing.T) {
	for _, tc := range []struct {
		screen cli.Screen
		want   string
	}{
		{cli.Screen{Terminal: true}, "\r\x1b[Klifeline: watching: 1\r\x1b[Klifeline: watching: 2\n"},
		{cli.Screen{}, "lifeline: watching\n"},
	} {
		var out bytes.Buffer
		line := newStateLine(&out, tc.screen)
		line.show("watching", ": 1")
		line.show("watching", ": 1")
		line.show("watching", ": 2")
		line.end()
		if out.String() != tc.want {
			t.Errorf("got %q, want %q", out.String(), tc.want)
		}
	}
}

// TestNamed: the URL of a server with a name is printed without its answer, too: without its token it
// gives none. That no server is there is said.
func TestNamed(t *testing.T) {
	u, out, talk := command("LIFELINE_SERVER=https://lifeline.example:7070")
	browsed := ""
	u.Browse = func(_ context.Context, url string) error {
		browsed = url
		return nil
	}
	if code, err := u.Run(t.Context()); err != nil || code != cli.CodeOK {
		t.Fatal(code, err, talk)
	}
	if browsed != "https://lifeline.example:7070" || out.String() != browsed+"\n" {
		t.Errorf("opened %q, printed %q", browsed, out)
	}
	u, out, talk = command()
	u.Server = cli.Server{URL: "http://127.0.0.1:1", Named: true}
	u.NoBrowser = true
	u.Browse = func(context.Context, string) error {
		t.Error("a browser was started")
		return nil
	}
	if _, err := u.Run(t.Context()); err != nil || out.String() != "http://127.0.0.1:1\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	if !strings.Contains(talk.String(), "no server answers at http://127.0.0.1:1") {
		t.Errorf("said %q", talk)
	}
	u.Server.URL = ""
	if err := u.Validate(); err == nil {
		t.Error(`--server "" has no page, but is accepted`)
	}
}
