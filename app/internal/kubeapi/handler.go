// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options configure Handler.
type Options struct {
	// AsOf returns the time up to which the API has all changes; zero before the first. Required. It must not block.
	AsOf func() time.Time
	// Clock returns the time for ages; nil means time.Now.
	Clock func() time.Time
}

// Handler serves the API group over the paths of package api. The namespace of a path is in the context of the
// requests to answers, see NamespaceOf, and the right that the API server has checked, see EndpointOf.
//
//	namespaces/NS/changes, changes, visiblechanges       a list, a table or a watch
//	…/changes/ID, visiblechanges/ID                      an object or a table
//	…/changes/ID/why, …/changes/-/groups, …              a subresource: the answer of the API
//	visiblechanges/-/traces/ID/why                       the answer of the API at /api/v1/traces/ID/why
//	visiblechanges?watch=true&stream=watch               the stream of the API at /api/v1/watch
func Handler(answers http.Handler, o Options) http.Handler {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &handler{api: answers, asOf: o.AsOf, clock: o.Clock, documents: Documents()}
}

type handler struct {
	api         http.Handler
	asOf, clock func() time.Time
	documents   http.Handler
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, _ := targetOf(r.URL.Path)
	if !Serves(r.URL.Path) {
		h.documents.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		WriteFailure(w, Failure(http.StatusMethodNotAllowed,
			"%s can only be read: they show what has happened in the cluster", t.resource()))
		return
	}
	q := r.URL.Query()
	switch {
	case t.name == "" && isTrue(q.Get("watch")) && q.Has("stream"):
		h.stream(w, r, t, q)
	case t.name == "" && isTrue(q.Get("watch")):
		h.watch(w, r, t, q)
	case t.name == "":
		h.list(w, r, t, q)
	case t.name == noName && t.visible && len(t.rest) > 0:
		h.pass(w, r, t, apiRoot+strings.Join(t.rest, "/"), q)
	case len(t.rest) == 0:
		h.get(w, r, t, q)
	default:
		h.subresource(w, r, t, q)
	}
}

// Serves reports whether a path is one of the resources. The others are those of Documents.
func Serves(path string) bool {
	_, ours := targetOf(path)
	return ours && strings.HasPrefix(path, Root+"/")
}

// isTrue reads a boolean parameter as Kubernetes does.
func isTrue(s string) bool { return s == "true" || s == "1" }

// streams are the values of the parameter "stream".
var streams = map[string]string{"watch": apiRoot + "watch", "problems": apiRoot + "problems/stream"}

// stream serves a stream of the API.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, t target, q url.Values) {
	path := streams[q.Get("stream")]
	if path == "" || !t.visible {
		WriteFailure(w, Failure(http.StatusBadRequest, "%s has no stream %s: there are watch and problems of %s",
			t.resource(), shown(q.Get("stream")), VisibleResource))
		return
	}
	q.Del("watch")
	q.Del("stream")
	h.pass(w, r, t, path, q)
}

// pass serves an answer of the API as it is. Its own path decides about the right.
func (h *handler) pass(w http.ResponseWriter, r *http.Request, t target, path string, q url.Values) {
	h.api.ServeHTTP(w, t.inner(r.Context(), r, "", path, q))
}

func (h *handler) subresource(w http.ResponseWriter, r *http.Request, t target, q url.Values) {
	path, is := below(t.name, t.rest[0], t.rest[1:])
	if !is || t.name != noName && !validName(t.name) {
		WriteFailure(w, t.notFound(strings.Join(append([]string{t.name}, t.rest...), "/")))
		return
	}
	h.pass(w, r, t, path, q)
}

// notFound is the answer for a change that is not there, or that the caller may not see.
func (t target) notFound(name string) *metav1.Status {
	s := Failure(http.StatusNotFound, "%s.%s %.120q not found", t.resource(), Group, name)
	s.Details = &metav1.StatusDetails{Name: shown(name), Group: Group, Kind: t.resource()}
	return s
}

// form is how a client wants changes.
type form int

const (
	formObject form = iota
	formTable
	formMetadata
)

// formOf reads the header Accept: the first form that we have. A client without one gets objects.
func formOf(r *http.Request) (form, *metav1.Status) {
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	for part := range strings.SplitSeq(cmp.Or(accepted, "*/*"), ",") {
		media, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		if media != jsonType && media != "*/*" && media != "application/*" {
			continue
		}
		params := map[string]string{}
		for p := range strings.SplitSeq(rest, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			params[name] = value
		}
		switch as := params["as"]; {
		case as == "":
			return formObject, nil
		case params["g"] != metav1.GroupName || params["v"] != "v1":
		case as == "Table":
			return formTable, nil
		case strings.HasPrefix(as, "PartialObjectMetadata"):
			return formMetadata, nil
		}
	}
	return formObject, Failure(http.StatusNotAcceptable, "changes are only in JSON: accept %s", jsonType)
}

// include returns the objects that a table has beside its cells.
func include(q url.Values) metav1.IncludeObjectPolicy {
	return metav1.IncludeObjectPolicy(cmp.Or(q.Get("includeObject"), string(metav1.IncludeMetadata)))
}
