// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"

	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// serve starts a server that watches a cluster, and returns its URL.
func serve(t *testing.T, cluster string) *httptest.Server {
	t.Helper()
	v := viewtest.New(t)
	v.Put(t, time.Now(), viewtest.Traces{})
	handler, err := api.New(api.Options{
		Access: v.Access, Hub: &api.Hub{}, Cluster: cluster, Clock: time.Now,
		Info: func() api.Info { return api.Info{Version: "1", Cluster: cluster, Leading: true} },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		server.Close()
	})
	return server
}

// asking returns a client's options, and its standard error.
func asking() (Options, *strings.Builder) {
	log := &strings.Builder{}
	return Options{
		Streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: log},
		Output:  OutputTable,
		Environ: []string{},
	}, log
}

func TestWhichServer(t *testing.T) {
	ours, other, unnamed, hashed := serve(t, "cluster-1"), serve(t, "cluster-2\x1b"), serve(t, ""), serve(
		t, "server-0123456789abcdef",
	)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	cluster := clitest.New(t)
	cases := map[string]struct {
		reason string
		server Server
		env    string
		// noConfig omits the kubeconfig.
		noConfig bool
		want     string
		log      string
		err      string
	}{
		"Named": {
			"of the kubeconfig's cluster", Server{URL: ours.URL, Named: true}, "", false, ours.URL, "", "",
		},
		"Environment": {"named by the environment", Server{}, ours.URL, false, ours.URL, "", ""},
		"FlagFirst": {
			"the flag counts more", Server{URL: ours.URL, Named: true}, other.URL, false, ours.URL, "", "",
		},
		"Empty":  {"none is wanted", Server{Named: true}, ours.URL, false, "", "", ""},
		"Direct": {"none is wanted", Server{URL: ours.URL, Named: true, Direct: true}, "", false, "", "", ""},
		"Other": {
			"a named server of another cluster is an error", Server{URL: other.URL, Named: true}, "", false, "", "",
			`the server that --server names watches cluster cluster-2\x1b, and your kubeconfig is for cluster-1`,
		},
		"NoKubeconfig": {
			"no other cluster can be meant", Server{URL: other.URL, Named: true}, "", true, other.URL, "", "",
		},
		"Unsaid": {"a server that does not know its cluster", Server{
			URL: unnamed.URL, Named: true,
		}, "", false, unnamed.URL, "does not say which cluster", ""},
		"Hashed": {"a UID cannot be compared with what stands for it", Server{
			URL: hashed.URL, Named: true,
		}, "", false, hashed.URL, "may not be read", ""},
		"Down": {
			"a named server that does not answer is an error", Server{}, "http://127.0.0.1:1", false, "", "",
			"cannot ask the server that LIFELINE_SERVER names: ",
		},
		"Off": {"the environment asks none, whatever is on this machine", Server{}, NoServer, false, "", "", ""},
		"NotOurs": {"another program answers", Server{
			URL: web.URL, Named: true,
		}, "", false, "", "", "cannot ask the server that --server names: "},
		"BadURL": {
			"", Server{URL: "ftp://x", Named: true}, "", false, "", "", "cannot ask the server that --server names: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, log := asking()
			if !tc.noConfig {
				o.Kubeconfig = cluster.Kubeconfig(t)
			}
			if tc.env != "" {
				o.Environ = append(o.Environ, EnvServer+"="+tc.env)
			}
			got, err := o.Connect(context.Background(), tc.server)
			check(t, tc.reason, got, err, log.String(), tc.want, tc.log, tc.err)
		})
	}
}

func TestLocalServer(t *testing.T) {
	ours, other := serve(t, "cluster-1"), serve(t, "cluster-2")
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(stop); slow.Close() })
	cluster := clitest.New(t)
	down := clitest.New(t)
	unreachable := down.Kubeconfig(t)
	down.Close()
	cases := map[string]struct {
		reason    string
		url       string
		down      bool
		want, log string
	}{
		"Ours": {"it is there and watches the cluster", ours.URL, false, ours.URL, ""},
		"Other": {
			"that of another cluster is left alone", other.URL, false, "",
			"watches another cluster (cluster-2) than that of your kubeconfig (cluster-1): it is not used",
		},
		"None": {"nothing listens, and nothing is said", "http://127.0.0.1:1", false, "", ""},
		"Slow": {"it is not waited for", slow.URL, false, "", ""},
		"Down": {
			"the cluster cannot be asked", ours.URL, true, ours.URL, "cannot tell whether the server at " + ours.URL,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, log := asking()
			o.Kubeconfig = cluster.Kubeconfig(t)
			if tc.down {
				o.Kubeconfig = unreachable
			}
			got, err := o.localServer(context.Background(), tc.url)
			check(t, tc.reason, got, err, log.String(), tc.want, tc.log, "")
		})
	}
}

// TestNotedServer: a server at another port than the default one is found if it watches the cluster.
func TestNotedServer(t *testing.T) {
	ours, other := serve(t, "cluster-1"), serve(t, "cluster-2")
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	for name, url := range map[string]string{"a": other.URL, "b": ours.URL, "c": "http://127.0.0.1:1"} {
		dir, err := datadir.Make(filepath.Join(home, "lifeline"), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := datadir.WriteAddress(dir, url); err != nil {
			t.Fatal(err)
		}
	}
	o, log := asking()
	o.Kubeconfig = clitest.New(t).Kubeconfig(t)
	for name, first := range map[string]string{
		"another cluster's server has the default port": other.URL, "nothing listens there": "http://127.0.0.1:1",
	} {
		got, err := o.localServer(context.Background(), first, o.notedServers()...)
		check(t, name, got, err, log.String(), ours.URL, "", "")
	}
}

// TestNamespaces: a server of some namespaces has no answer about others, which a message says.
func TestNamespaces(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"version":"1","cluster":"cluster-1","namespaces":["shop","web"]}`))
	}))
	defer server.Close()
	only := "the server at " + server.URL + " watches only namespace shop, web, and no other one is in its answers"
	cluster := clitest.New(t)
	for name, tc := range map[string]struct {
		everywhere bool
		want       string
	}{"the watched one": {false, ""}, "all": {true, only}} {
		o, log := asking()
		o.Kubeconfig, o.Everywhere = cluster.Kubeconfig(t), tc.everywhere
		got, err := o.Connect(context.Background(), Server{URL: server.URL, Named: true})
		check(t, name, got, err, log.String(), server.URL, tc.want, "")
	}
}

func check(t *testing.T, reason string, got *Session, err error, log, want, wantLog, wantErr string) {
	t.Helper()
	server := ""
	if got != nil {
		defer got.Close()
		server = got.Server()
	}
	if server != want {
		t.Errorf("%s: server %q, want %q", reason, server, want)
	}
	if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(OneLine(err), wantErr) {
		t.Errorf("%s: error %v, want %q", reason, err, wantErr)
	}
	if (log != "") != (wantLog != "") || !strings.Contains(log, wantLog) {
		t.Errorf("%s: said %q, want %q", reason, log, wantLog)
	}
}

// TestStartingServer: a server that is not ready is waited for, whether it was named or not.
func TestStartingServer(t *testing.T) {
	ours := serve(t, "cluster-1")
	cluster := clitest.New(t)
	cases := map[string]struct {
		reason string
		named  bool
		// after is the Retry-After of the first answers; failures is their number.
		after    string
		failures int32
		found    bool
		log, err string
	}{
		"Named": {
			"it is ready after a moment",
			true,
			"1",
			2,
			true,
			"waiting for the server at URL: it is starting",
			"",
		},
		"Unnamed": {
			"longer than for an absent one",
			false,
			"1",
			2,
			true,
			"waiting for the server at URL: it is starting",
			"",
		},
		"NamedLong": {
			"not longer than commands wait", true, "60", 9, false, "waiting for the server at URL: it is starting",
			"cannot ask the server that --server names: it is starting",
		},
		"UnnamedLong": {
			"the cluster is asked instead", false, "60", 9, false, "the server at URL is not ready: it is not used", "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failures atomic.Int32
			failures.Store(tc.failures)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if failures.Add(-1) >= 0 {
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Retry-After", tc.after)
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = io.WriteString(w, `{"error":{"code":503,"message":"it is starting"}}`)
					return
				}
				ours.Config.Handler.ServeHTTP(w, r)
			}))
			defer server.Close()
			o, log := asking()
			o.Kubeconfig = cluster.Kubeconfig(t)
			connect := func() (*Session, error) { return o.localServer(context.Background(), server.URL) }
			if tc.named {
				connect = func() (*Session, error) {
					return o.Connect(context.Background(), Server{URL: server.URL, Named: true})
				}
			}
			got, err := connect()
			want := ""
			if tc.found {
				want = server.URL
			}
			check(t, tc.reason, got, err, log.String(), want, strings.ReplaceAll(tc.log, "URL", server.URL), tc.err)
		})
	}
}
