// SPDX-License-Identifier: Apache-2.0

// Package syntheticapi is an API server without a cluster: it generates the objects of a large one,
// lists them and streams their changes, in JSON and in protobuf. It takes no writes of a client. A
// machine of two cores can so test a client at a size for which Kubernetes itself needs dozens.
package syntheticapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Server answers the requests of clients on loopback, over plain HTTP.
type Server struct {
	store *store
	http  *http.Server
	// url is the address, and served is closed after the end.
	url    string
	served chan struct{}

	mu sync.Mutex
	// pages are the lists that clients have not read to the end, by continue token.
	pages map[string]*unread
	last  int
}

// unread is the rest of a list.
type unread struct {
	rest    []*stored
	version uint64
}

// bookmarkEvery is the time between two bookmarks of one watch, as in the real API server.
const bookmarkEvery = time.Minute

// serve starts a server for the objects of the store.
func serve(s *store) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	srv := &Server{
		store: s, url: "http://" + l.Addr().String(), served: make(chan struct{}), pages: map[string]*unread{},
	}
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(srv.served)
		_ = srv.http.Serve(l)
	}()
	return srv, nil
}

// URL is the address of the server.
func (s *Server) URL() string { return s.url }

// Close ends all connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// WriteKubeconfig writes a kubeconfig for the server.
func (s *Server) WriteKubeconfig(path string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["synthetic"] = &clientcmdapi.Cluster{Server: s.url}
	c.AuthInfos["reader"] = &clientcmdapi.AuthInfo{Token: "synthetic"}
	c.Contexts["synthetic"] = &clientcmdapi.Context{Cluster: "synthetic", AuthInfo: "reader"}
	c.CurrentContext = "synthetic"
	return clientcmd.WriteToFile(*c, path)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	switch path {
	case "livez", "readyz", "healthz":
		_, _ = w.Write([]byte("ok"))
		return
	case "apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		allow(w, r)
		return
	}
	f, ok := formatOf(r)
	switch {
	case !ok:
		refuse(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "no such media type")
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the cluster is read-only")
	case discover(w, r, f):
	default:
		s.objects(w, r, f, path)
	}
}

// allow answers an access review.
func allow(w http.ResponseWriter, r *http.Request) {
	review := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&review)
	review["kind"], review["apiVersion"] = "SelfSubjectAccessReview", "authorization.k8s.io/v1"
	review["status"] = map[string]any{"allowed": true}
	answerJSON(w, http.StatusCreated, jsonType, review)
}

// objects answers a get, a list or a watch.
func (s *Server) objects(w http.ResponseWriter, r *http.Request, f format, path string) {
	c, namespace, name := s.find(path)
	if c == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	q := r.URL.Query()
	if name != "" {
		s.object(w, f, c, namespace, name)
		return
	}
	only, named := strings.CutPrefix(q.Get("fieldSelector"), "metadata.name=")
	wanted := func(o *stored) bool {
		return (namespace == "" || o.namespace == namespace) && (!named || o.name == only)
	}
	if q.Get("watch") == "true" || q.Get("watch") == "1" {
		s.watch(w, r, f, c, wanted)
		return
	}
	s.list(w, r, f, c, wanted)
}

// find returns the collection of a path, with the namespace and the name in it.
func (s *Server) find(path string) (c *collection, namespace, name string) {
	parts := strings.Split(path, "/")
	var r apiResource
	switch {
	case parts[0] == "api" && len(parts) > 2:
		r.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.group, r.version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, "", ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	c = s.store.collections[resourceName{r.group, parts[0]}]
	if c == nil || c.resource.version != r.version || len(parts) > 2 {
		return nil, "", ""
	}
	if len(parts) == 2 {
		name = parts[1]
	}
	return c, namespace, name
}

func (s *Server) object(w http.ResponseWriter, f format, c *collection, namespace, name string) {
	o := s.store.get(c, namespace, name)
	if o == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, name+" not found")
		return
	}
	apiVersion, kind := f.typeOf(c.resource)
	w.Header().Set("Content-Type", f.contentType(false))
	_, _ = w.Write(f.single(nil, apiVersion, kind, encodeObject(nil, f, o)))
}

// typeOf returns the type of the objects of a resource in the format.
func (f format) typeOf(r apiResource) (apiVersion, kind string) {
	if f.metadata {
		return "meta.k8s.io/v1", "PartialObjectMetadata"
	}
	return r.apiVersion(), r.kind
}

// encodeObject appends an object, or only its metadata.
func encodeObject(dst []byte, f format, o *stored) []byte {
	if b, ok := o.body.(*built); ok && f.metadata {
		return b.metadata(dst, f, o.rv)
	}
	return o.encode(dst, f)
}

// list answers one page.
func (s *Server) list(w http.ResponseWriter, r *http.Request, f format, c *collection, wanted func(*stored) bool) {
	q := r.URL.Query()
	var page unread
	if token := q.Get("continue"); token != "" {
		s.mu.Lock()
		known := s.pages[token]
		delete(s.pages, token)
		s.mu.Unlock()
		if known == nil {
			refuse(w, http.StatusGone, metav1.StatusReasonExpired, "the continue token has expired")
			return
		}
		page = *known
	} else {
		page.rest, page.version = s.store.snapshot(c, wanted)
		if q.Get("resourceVersionMatch") == "Exact" &&
			q.Get("resourceVersion") != strconv.FormatUint(page.version, 10) {
			refuse(w, http.StatusGone, metav1.StatusReasonExpired, "the resourceVersion is not the present one")
			return
		}
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(page.version, 10)}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && 0 < limit && limit < len(page.rest) {
		left := int64(len(page.rest) - limit)
		meta.Continue, meta.RemainingItemCount = s.keep(page.rest[limit:], page.version), &left
		page.rest = page.rest[:limit]
	}
	items := make([][]byte, len(page.rest))
	for i, o := range page.rest {
		items[i] = encodeObject(nil, f, o)
	}
	apiVersion, kind := f.typeOf(c.resource)
	w.Header().Set("Content-Type", f.contentType(false))
	_, _ = w.Write(f.listOf(nil, apiVersion, kind+"List", meta, items))
}

// keep keeps the rest of a list, and returns its continue token.
func (s *Server) keep(rest []*stored, version uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	token := "page-" + strconv.Itoa(s.last)
	s.pages[token] = &unread{rest, version}
	return token
}

var errExpired = errors.New("the changes after that resourceVersion are gone")

// watch streams the changes after a resourceVersion, and bookmarks.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, f format, c *collection, wanted func(*stored) bool) {
	q := r.URL.Query()
	rv, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	n, ok := s.store.place(c, rv)
	if err != nil || !ok {
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, errExpired.Error())
		return
	}
	seconds, err := strconv.Atoi(q.Get("timeoutSeconds"))
	if err != nil {
		seconds = 1800
	}
	timeout := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timeout.Stop()
	bookmarks := time.NewTicker(bookmarkEvery)
	defer bookmarks.Stop()
	w.Header().Set("Content-Type", f.contentType(true))
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	st := &streaming{server: s, format: f, collection: c, wanted: wanted, next: n}
	for {
		news, err := st.advance()
		if err != nil {
			return
		}
		if len(st.buf) > 0 {
			if _, err := w.Write(st.buf); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
		select {
		case <-news:
		case <-bookmarks.C:
			st.bookmark = q.Get("allowWatchBookmarks") == "true"
		case <-timeout.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// streaming is the state of one watch.
type streaming struct {
	server     *Server
	format     format
	collection *collection
	wanted     func(*stored) bool
	// next is the number of the next change, and bookmark means that one is due.
	next     int
	bookmark bool
	// buf holds the frames that are not sent yet, and object the last encoded object.
	buf, object []byte
}

// advance encodes the next changes, and a bookmark if one is due. It returns a channel that is closed
// at the next change.
func (st *streaming) advance() (<-chan struct{}, error) {
	changes, version, news, ok := st.server.store.since(st.collection, st.next)
	if !ok {
		return nil, errExpired
	}
	st.buf = st.buf[:0]
	st.next += len(changes)
	apiVersion, kind := st.format.typeOf(st.collection.resource)
	for _, ch := range changes {
		if !st.wanted(ch.object) {
			continue
		}
		st.object = encodeObject(st.object[:0], st.format, ch.object)
		st.buf = st.format.frame(st.buf, ch.what, apiVersion, kind, st.object)
	}
	if st.bookmark {
		st.bookmark = false
		only := metav1.PartialObjectMetadata{}
		only.ResourceVersion = strconv.FormatUint(version, 10)
		object := mustJSON(only)
		if st.format.proto {
			object = mustProto(&only)
		}
		st.buf = st.format.frame(st.buf, bookmark, apiVersion, kind, object)
	}
	return news, nil
}
