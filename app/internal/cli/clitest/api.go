// SPDX-License-Identifier: Apache-2.0

// Package clitest has an API server for tests. It stores objects and runs no controllers.
package clitest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// API stores, lists and watches ConfigMaps and Pods. It runs no controllers.
type API struct {
	*httptest.Server

	mu      sync.Mutex
	version int
	objects []stored
	changed chan struct{}
}

type stored struct {
	path    string
	version int
	object  map[string]any
}

// as returns the object in the requested form.
func (s stored) as(r *http.Request) map[string]any {
	if !onlyMetadata(r) {
		return s.object
	}
	return map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": s.object["metadata"],
	}
}

func onlyMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// New starts the server for the duration of a test. Its cluster is "cluster-1", with the namespaces shop and default.
func New(t *testing.T) *API {
	t.Helper()
	f := &API{version: 100, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/kube-system", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": "kube-system", "uid": "cluster-1",
		}})
	})
	for _, name := range []string{"shop", "default"} {
		mux.HandleFunc("GET /api/v1/namespaces/"+name, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "uid": "uid-" + name},
			})
		})
	}
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	})
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	})
	mux.HandleFunc("GET /api/v1", func(w http.ResponseWriter, _ *http.Request) {
		resource := func(name, kind string) map[string]any {
			return map[string]any{
				"name": name, "kind": kind, "namespaced": true, "verbs": []string{"list", "watch", "create"},
			}
		}
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			resource("configmaps", "ConfigMap"), resource("pods", "Pod"),
		}})
	})
	mux.HandleFunc("POST /api/v1/namespaces/{ns}/{resource}", f.create)
	mux.HandleFunc("GET /api/v1/namespaces/{ns}/{resource}", f.list)
	f.Server = httptest.NewUnstartedServer(mux)
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *API) create(w http.ResponseWriter, r *http.Request) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	meta := o["metadata"].(map[string]any)
	if meta["name"] == "refused" {
		answer(w, http.StatusForbidden, map[string]any{
			"kind":       "Status",
			"apiVersion": "v1",
			"status":     "Failure",
			"reason":     "Forbidden",
			"message": `deployments.apps "refused" is forbidden: exceeded quota: small, requested: pods=1, ` +
				`used: pods=1, limited: pods=1`,
			"code": 403,
		})
		return
	}
	f.mu.Lock()
	f.version++
	meta["uid"] = fmt.Sprintf("uid-%d", f.version)
	meta["resourceVersion"] = strconv.Itoa(f.version)
	meta["namespace"] = r.PathValue("ns")
	meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
	f.objects = append(f.objects, stored{r.URL.Path, f.version, o})
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
	answer(w, http.StatusCreated, o)
}

// Create adds a new object.
func (f *API) Create(t *testing.T, namespace, kind, name string) {
	t.Helper()
	url := f.URL + "/api/v1/namespaces/" + namespace + "/" + strings.ToLower(kind) + "s"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(ObjectJSON(kind, name)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := f.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("got status %d, %v", res.StatusCode, err)
	}
}

// Store adds an existing object in namespace shop.
func (f *API) Store(name, kind, text string) {
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	o["apiVersion"], o["kind"] = "v1", kind
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	meta := o["metadata"].(map[string]any)
	meta["name"], meta["namespace"], meta["uid"] = name, "shop", "uid-"+name
	meta["resourceVersion"], meta["creationTimestamp"] = strconv.Itoa(f.version), "2026-03-01T12:50:00Z"
	f.objects = append(f.objects, stored{"/api/v1/namespaces/shop/" + strings.ToLower(kind) + "s", f.version, o})
}

func (f *API) list(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if r.URL.Query().Get("watch") != "" {
		f.watch(w, r, since)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.version
	if r.URL.Query().Get("resourceVersionMatch") == "Exact" {
		at = since
	}
	items := []any{}
	for _, s := range f.objects {
		if s.path == r.URL.Path && s.version <= at {
			items = append(items, s.as(r))
		}
	}
	kind, version := "List", "v1"
	if onlyMetadata(r) {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	answer(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{
		"resourceVersion": strconv.Itoa(at),
	}, "items": items})
}

func (f *API) watch(w http.ResponseWriter, r *http.Request, since int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		f.mu.Lock()
		for _, s := range f.objects {
			if s.path == r.URL.Path && s.version > since {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": s.as(r)})
			}
		}
		since = f.version
		changed := f.changed
		f.mu.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Audit-Id", "audit-1")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

// Kubeconfig returns the user's kubeconfig, for the fake API server.
func (f *API) Kubeconfig(t *testing.T) *proxy.Kubeconfig {
	t.Helper()
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   f.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}),
	}
	raw.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "user-secret"}
	raw.Contexts["main"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "shop"}
	raw.CurrentContext = "main"
	k, err := proxy.LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), proxy.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ObjectJSON is the JSON of an object that a command creates.
func ObjectJSON(kind, name string) string {
	spec := ""
	if strings.EqualFold(kind, "Pod") {
		spec = `,"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Pending"}`
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q}%s}`, kind, name, spec)
}
