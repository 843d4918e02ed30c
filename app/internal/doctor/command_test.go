// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/received"
)

// fakeServer acts as a `lifeline serve` with the given sources.
func fakeServer(t *testing.T, sources api.Sources) *client.Client {
	t.Helper()
	mux := http.NewServeMux()
	tell := func(path string, what any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(what); err != nil {
				t.Error(err)
			}
		})
	}
	tell("/api/v1/info", api.Info{Version: "v0.1.0", Mode: "single"})
	tell("/api/v1/sources", sources)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "lifeline_spans_made_total 7\n")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, client.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCommand(t *testing.T) {
	waits := api.Sources{
		Watch: api.WatchSource{Watching: true, Resources: 2}, Receives: api.Receives{GRPC: "127.0.0.1:4317"},
		Received: received.Summary{AsOf: noon, Since: noon.Add(-received.Window), Window: 900},
	}
	for name, tc := range map[string]struct {
		reason  string
		sources *api.Sources
		err     error
		noREST  bool
		code    int
		says    string
	}{
		"NoServer": {reason: "advice is no failure", code: codeOK, says: "advice   server"},
		"Waits": {
			reason: "spans that were asked for and do not come", sources: &waits, code: codeMissing,
			says: "missing  kube-apiserver   no span in the last 15m",
		},
		"Watches": {
			reason: "a server that asked for nothing", sources: &api.Sources{Watch: api.WatchSource{Watching: true}},
			code: codeOK, says: "the server does not receive spans",
		},
		"NoCluster": {
			reason: "a server is enough", sources: &waits, noREST: true, code: codeMissing, says: "unknown  cluster",
		},
		"Nothing": {reason: "neither", noREST: true, code: codeError},
		"Named": {
			reason: "a server that was named must be there", err: errors.New("cannot ask the server"), code: codeError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			c := &Command{
				Out: &out, Log: &log, Version: "v0.1.0", Now: atNoon, Output: OutputText, REST: newFakeAPI(t).config(),
			}
			if tc.noREST {
				c.REST = nil
			}
			c.Server = func(context.Context) (*client.Client, error) {
				if tc.sources == nil {
					return nil, tc.err
				}
				return fakeServer(t, *tc.sources), nil
			}
			code, err := c.Run(t.Context())
			if code != tc.code || (err != nil) != (tc.code == codeError) {
				t.Errorf("%s: code %d, %v; want %d", tc.reason, code, err, tc.code)
			}
			if !strings.Contains(out.String(), tc.says) {
				t.Errorf("%s: the report lacks %q:\n%s", tc.reason, tc.says, &out)
			}
		})
	}
}

// TestBundle: the bundle holds all facts, and neither credentials nor the names of their users.
func TestBundle(t *testing.T) {
	server := fakeServer(t, api.Sources{
		Configuration: json.RawMessage(`{"apiVersion":"lifeline.dev/v1alpha1","kind":"ServerConfiguration"}`),
	})
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	var out, log bytes.Buffer
	c := &Command{
		Out: &out, Log: &log, Now: atNoon, Output: OutputJSON, REST: newFakeAPI(t).config(), Bundle: path,
		Telemetry: server.Server(),
		Server:    func(context.Context) (*client.Client, error) { return server, nil },
	}
	if code, err := c.Run(t.Context()); err != nil || code != codeOK {
		t.Fatalf("code %d, %v", code, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is for others to read: %v, %v", info.Mode(), err)
	}
	files := unpack(t, path)
	for name, want := range map[string]string{
		"report.txt": "ok       cluster", "report.json": hashed("alice@example.com"),
		"configuration.json": "ServerConfiguration", "metrics.txt": "lifeline_spans_made_total 7",
	} {
		if !strings.Contains(files["lifeline-doctor/"+name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files["lifeline-doctor/"+name])
		}
	}
	for name, text := range files {
		for _, secret := range []string{"hunter2", "alice", "sa.key", "clientCAFile"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q:\n%s", name, secret, text)
			}
		}
	}
	if code, err := c.Run(t.Context()); code != codeError || err == nil ||
		!strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a bundle that is there: code %d, %v", code, err)
	}
}

// TestBundleNames: names are shown on request.
func TestBundleNames(t *testing.T) {
	var out, log bytes.Buffer
	c := &Command{
		Out: &out, Log: &log, Now: atNoon, Output: OutputJSON, REST: newFakeAPI(t).config(), Names: true,
		Server: func(context.Context) (*client.Client, error) { return nil, nil },
	}
	if _, err := c.Run(t.Context()); err != nil || !strings.Contains(out.String(), "alice@example.com") {
		t.Errorf("%v:\n%s", err, &out)
	}
}

// TestBundleWithoutMetrics: the bundle has the reason for missing metrics.
func TestBundleWithoutMetrics(t *testing.T) {
	f := whole()
	r := Examine(f)
	files, err := bundle(&r, nil, errors.New("nobody\nanswers"))
	if err != nil {
		t.Fatal(err)
	}
	last := files[len(files)-1]
	if last.name != "metrics-missing.txt" || !strings.Contains(string(last.text), "nobody") {
		t.Errorf("the last file is %s: %s", last.name, last.text)
	}
}

func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out[head.Name] = string(text)
	}
}
