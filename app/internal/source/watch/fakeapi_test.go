// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// fakeAPI is an API server that keeps every version of every object and can simulate faults.
type fakeAPI struct {
	tb     testing.TB
	server *httptest.Server

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at every change
	version   int
	history   []write
	compacted int // versions up to this are compacted
	gone      int // watches from before this are refused
	// goneAtOnce refuses them before they begin.
	goneAtOnce bool
	refuse     map[string]int
	kinds      map[string][]kindOffered
	broken     []string // API groups whose discovery fails
	requests   []string
	times      []time.Time   // of the requests
	hangUps    chan struct{} // closed and replaced to end all watches
	bookmarks  bool
	token      string         // if not empty, other tokens are rejected
	retryAfter string         // sent with each refusal
	stuck      map[string]int // number of requests without a response, by path
	// others serve the resources below a path from a storage of their own.
	others map[string]*fakeAPI
}

type kindOffered struct {
	resource, kind string
	namespaced     bool
}

// write is one version of one object.
type write struct {
	version         int
	path            string // of the resource, with its namespace
	namespace, name string
	object          map[string]any // nil if deleted
	last            map[string]any // its last state
}

func newFakeAPI(tb testing.TB) *fakeAPI {
	tb.Helper()
	f := &fakeAPI{
		tb: tb, changed: make(
			chan struct{},
		), hangUps: make(chan struct{}), refuse: map[string]int{}, stuck: map[string]int{}, version: 100,
		kinds: map[string][]kindOffered{
			"v1": {{"pods", "Pod", true}, {
				"secrets", "Secret", true,
			}, {"events", "Event", true}, {"nodes", "Node", false}, {"endpoints", "Endpoints", true}},
			"apps/v1":                 {{"deployments", "Deployment", true}, {"replicasets", "ReplicaSet", true}},
			"events.k8s.io/v1":        {{"events", "Event", true}},
			"apiextensions.k8s.io/v1": {{"customresourcedefinitions", "CustomResourceDefinition", false}},
		},
	}
	f.server = httptest.NewServer(f)
	tb.Cleanup(f.server.Close)
	return f
}

func (f *fakeAPI) config() *rest.Config { return &rest.Config{Host: f.server.URL} }

// put stores an object and returns its version. The path is that of a list,
// such as /apis/apps/v1/deployments, without namespace.
func (f *fakeAPI) put(path, namespace, name string, more ...any) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	gv, resource := split(path)
	kind := ""
	for _, k := range f.kinds[gv] {
		if k.resource == resource {
			kind = k.kind
		}
	}
	meta := map[string]any{"name": name, "uid": "uid-" + name, "resourceVersion": strconv.Itoa(f.version)}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	object := map[string]any{"apiVersion": gv, "kind": kind, "metadata": meta}
	for i := 0; i+1 < len(more); i += 2 {
		switch key := more[i].(string); key {
		case "ownerReferences", "annotations":
			meta[key] = more[i+1]
		default:
			object[key] = more[i+1]
		}
	}
	f.add(write{version: f.version, path: path, namespace: namespace, name: name, object: object})
	return f.version
}

func (f *fakeAPI) remove(path, namespace, name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	w := write{version: f.version, path: path, namespace: namespace, name: name}
	for _, old := range f.history {
		if old.path == path && old.namespace == namespace && old.name == name {
			w.last = old.object
		}
	}
	f.add(w)
	return f.version
}

func (f *fakeAPI) add(w write) {
	f.history = append(f.history, w)
	close(f.changed)
	f.changed = make(chan struct{})
}

// with changes the server's behavior.
func (f *fakeAPI) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// endWatches ends every watch.
func (f *fakeAPI) endWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.hangUps)
	f.hangUps = make(chan struct{})
}

// expire discards all old versions.
func (f *fakeAPI) expire() {
	f.with(func() { f.compacted, f.gone = f.version-1, f.version })
}

// asked returns the requests that contain all parts.
func (f *fakeAPI) asked(parts ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, r := range f.requests {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(r, part) }) {
			found = append(found, r)
		}
	}
	return found
}

// split returns "apps/v1" and "deployments" for a list's path.
func split(path string) (gv, resource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return strings.Join(parts[1:len(parts)-1], "/"), parts[len(parts)-1]
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.with(func() { f.requests, f.times = append(f.requests, r.URL.RequestURI()), append(f.times, time.Now()) })
	if !f.admitted(w, r) {
		return
	}
	path, namespace := r.URL.Path, ""
	if before, after, ok := strings.Cut(path, "/namespaces/"); ok {
		if ns, resource, ok := strings.Cut(after, "/"); ok {
			path, namespace = before+"/"+resource, ns
		}
	}
	if f.discovery(w, path) {
		return
	}
	for below, other := range f.others {
		if strings.HasPrefix(path, below) {
			other.ServeHTTP(w, r)
			return
		}
	}
	f.mu.Lock()
	code := cmp.Or(f.refuse[path], f.refuse[r.URL.Path])
	f.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	switch {
	case code != 0:
		f.with(func() {
			if f.retryAfter != "" {
				w.Header().Set("Retry-After", f.retryAfter)
			}
		})
		fail(w, code)
	case r.URL.Query().Get("watch") != "":
		f.watch(w, r, path, namespace, name)
	default:
		f.list(w, r, path, namespace, name)
	}
}

// admitted reports whether a request gets a response. It rejects a wrong token.
func (f *fakeAPI) admitted(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	token, stuck := f.token, f.stuck[r.URL.Path]
	if stuck > 0 {
		f.stuck[r.URL.Path]--
	}
	f.mu.Unlock()
	if stuck > 0 {
		<-r.Context().Done()
		return false
	}
	if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
		fail(w, http.StatusUnauthorized)
		return false
	}
	return true
}

// stop ends the server like a crash. The returned function restarts it at the same address.
func (f *fakeAPI) stop() (start func()) {
	f.tb.Helper()
	address := f.server.Listener.Addr().String()
	f.server.CloseClientConnections()
	f.server.Close()
	return func() {
		listener, err := net.Listen("tcp", address)
		// Another program may use the port meanwhile.
		for began := time.Now(); errors.Is(
			err, syscall.EADDRINUSE,
		) && time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
			listener, err = net.Listen("tcp", address)
		}
		if err != nil {
			f.tb.Fatal(err)
		}
		f.server = httptest.NewUnstartedServer(f)
		f.server.Listener.Close()
		f.server.Listener = listener
		f.server.Start()
		f.tb.Cleanup(f.server.Close)
	}
}

func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request, path, namespace, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, from := f.version, 0
	if r.URL.Query().Get("resourceVersionMatch") == "Exact" {
		at, _ = strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	}
	if token := r.URL.Query().Get("continue"); token != "" {
		fmt.Sscanf(token, "%d.%d", &at, &from) // our own token
	}
	if at < f.compacted {
		fail(w, http.StatusGone)
		return
	}
	if at > f.version {
		fail(w, http.StatusGatewayTimeout)
		return
	}
	present := map[string]map[string]any{}
	for _, h := range f.history {
		if h.version <= at && h.path == path && (namespace == "" || h.namespace == namespace) && (name == "" ||
			h.name == name) {
			present[h.namespace+"/"+h.name] = h.object
		}
	}
	items := []any{}
	for _, object := range present {
		if object != nil {
			items = append(items, f.shaped(r, object))
		}
	}
	slices.SortFunc(items, func(a, b any) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	meta := map[string]any{"resourceVersion": strconv.Itoa(at)}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if limit > 0 && from+limit < len(items) {
		meta["continue"] = fmt.Sprintf("%d.%d", at, from+limit)
		items = items[from : from+limit]
	} else {
		items = items[from:]
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": meta, "items": items}
	if partial(r) {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	reply(w, list)
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, path, namespace, name string) {
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	f.mu.Lock()
	hangUp, gone, atOnce := f.hangUps, at < f.gone, f.goneAtOnce
	f.mu.Unlock()
	if gone && atOnce {
		fail(w, http.StatusGone)
		return
	}
	out := json.NewEncoder(w)
	w.Header().Set("Content-Type", "application/json")
	flush := w.(http.Flusher).Flush
	if gone {
		send(out, "ERROR", failure(http.StatusGone))
		return
	}
	flush()
	for {
		f.mu.Lock()
		changed, history, bookmarks := f.changed, slices.Clone(f.history), f.bookmarks
		f.mu.Unlock()
		select {
		case <-hangUp:
			return // no later changes
		default:
		}
		for _, h := range history {
			if h.version <= at {
				continue
			}
			at = h.version
			if h.path != path || (namespace != "" && h.namespace != namespace) || (name != "" && h.name != name) {
				if bookmarks {
					send(out, "BOOKMARK", f.shaped(r, map[string]any{
						"apiVersion": "v1", "kind": "Any",
						"metadata": map[string]any{"resourceVersion": strconv.Itoa(at)},
					}))
				}
				continue
			}
			if h.object != nil {
				send(out, "MODIFIED", f.shaped(r, h.object))
				continue
			}
			last := clone(f.shaped(r, h.last))
			last["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(h.version)
			send(out, "DELETED", last)
		}
		flush()
		select {
		case <-changed:
		case <-hangUp:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// discovery returns the offered resources in the form of old servers.
func (f *fakeAPI) discovery(w http.ResponseWriter, path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(path, "/"), "/")
	gv := strings.Join(parts[1:], "/")
	switch {
	case path == "/api":
		reply(w, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case path == "/apis":
		groups := []any{}
		for offered := range f.kinds {
			if group, version, ok := strings.Cut(offered, "/"); ok {
				v := map[string]any{"groupVersion": offered, "version": version}
				groups = append(groups, map[string]any{"name": group, "versions": []any{v}, "preferredVersion": v})
			}
		}
		reply(w, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	case f.kinds[gv] != nil && slices.Contains(f.broken, gv):
		fail(w, http.StatusServiceUnavailable)
	case f.kinds[gv] != nil:
		resources := []any{}
		for _, k := range f.kinds[gv] {
			resources = append(resources, map[string]any{
				"name": k.resource, "kind": k.kind, "namespaced": k.namespaced,
				"verbs": []string{"list", "watch", "get"},
			})
		}
		reply(w, map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": resources,
		})
	default:
		return false
	}
	return true
}

// shaped returns an object in the requested form.
func (f *fakeAPI) shaped(r *http.Request, object map[string]any) map[string]any {
	if !partial(r) {
		return object
	}
	return map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"],
	}
}

func partial(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
}

func nameOf(v any) string {
	name, _ := v.(map[string]any)["metadata"].(map[string]any)["name"].(string)
	return name
}

func clone(m map[string]any) map[string]any {
	text, _ := json.Marshal(m)
	var out map[string]any
	json.Unmarshal(text, &out) // our own text
	return out
}

func send(out *json.Encoder, typ string, object any) {
	out.Encode(map[string]any{"type": typ, "object": object}) // the client may be gone
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // the client may be gone
}

func fail(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(failure(code)) // the client may be gone
}

func failure(code int) map[string]any {
	reason := map[int]string{http.StatusGone: "Expired", http.StatusForbidden: "Forbidden",
		http.StatusNotFound:     "NotFound",
		http.StatusUnauthorized: "Unauthorized", http.StatusTooManyRequests: "TooManyRequests"}[code]
	return map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
		"message": http.StatusText(code),
	}
}
