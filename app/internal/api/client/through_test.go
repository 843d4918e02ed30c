// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client/clienttest"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// through returns a client of the rig's server, through an API server.
func (r *rig) through(t *testing.T, token string) (*Client, *clienttest.APIServer) {
	t.Helper()
	a := clienttest.New(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if got := req.Header.Get("Authorization"); got != "" {
			t.Errorf("the server got the credentials %q", got)
		}
		r.handler.Load().ServeHTTP(w, req)
	}))
	c, err := Through(a.Config(token))
	if err != nil {
		t.Fatal(err)
	}
	c.pause = time.Millisecond
	t.Cleanup(c.Close)
	return c, a
}

// TestThrough: each question has its path behind the API server, and the server's own errors stay as they are.
func TestThrough(t *testing.T) {
	r := newRig(t)
	apply := spantest.Apply()
	r.view.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{apply}})
	c, a := r.through(t, clienttest.Token)
	ctx, id := t.Context(), apply.ID.String()
	if offered, err := c.Offered(ctx); !offered || err != nil {
		t.Fatal(offered, err)
	}
	list, err := c.List(ctx, Query{Limit: 5})
	if err != nil || len(list.Traces) != 1 || list.Traces[0].TraceID != id {
		t.Fatalf("got %+v, %v", list, err)
	}
	if _, err := c.Trace(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := c.Why(ctx, id, object.Ref{Kind: object.Kind{Group: "apps", Kind: "Deployment"}}); err != nil {
		t.Error(err)
	}
	var answer *api.Error
	if _, err := c.Trace(ctx, "0123456789"); !errors.As(err, &answer) || answer.Code != http.StatusNotFound ||
		strings.Contains(answer.Message, "APIService") {
		t.Errorf("an unknown trace: %v", err)
	}
	const at = "GET /apis/lifeline.dev/v1alpha1"
	want := []string{
		at, at + "/visiblechanges/-/traces?limit=5", at + "/visiblechanges/-/traces/" + id,
		at + "/visiblechanges/-/traces/" + id + "/why?group=apps&kind=Deployment",
		at + "/visiblechanges/-/traces/0123456789",
	}
	if diff := cmp.Diff(want, a.Asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRefusals: each answer of the API server itself is one sentence with the next step.
func TestRefusals(t *testing.T) {
	since := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	const away = "the server in the cluster does not answer: its APIService v1alpha1.lifeline.dev is not available"
	for name, tc := range map[string]struct {
		reason string
		state  clienttest.State
		token  string
		code   int
		want   string
	}{
		"credentials": {
			"another user's token, or an old one", clienttest.State{}, "old", http.StatusUnauthorized,
			"the API server does not accept the credentials of your kubeconfig: log in again",
		},
		"forbidden": {
			"no ClusterRole is bound", clienttest.State{Forbidden: true}, clienttest.Token, http.StatusForbidden,
			"you may not ask the server in the cluster: its admin can bind the ClusterRole lifeline-visible-changes " +
				"to you",
		},
		"away": {
			"a developer may not read the APIService", clienttest.State{Away: true}, clienttest.Token,
			http.StatusServiceUnavailable, away,
		},
		"since": {
			"an admin may", clienttest.State{Away: true, Since: since}, clienttest.Token,
			http.StatusServiceUnavailable, away + " since 2026-11-29T12:00:00Z",
		},
		"message": {
			"the Deployment in front of the server answers", clienttest.State{
				Away: true, Message: `{"error":{"code":503,"message":"the server has not answered since noon"}}`,
			}, clienttest.Token, http.StatusServiceUnavailable, "the server has not answered since noon",
		},
		"status": {
			"the same as a Status", clienttest.State{
				Away: true, Message: `{"kind":"Status","message":"it has not answered since noon","code":503}`,
			}, clienttest.Token, http.StatusServiceUnavailable,
			"the server in the cluster does not answer: it has not answered since noon",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, a := newRig(t).through(t, tc.token)
			a.Set(tc.state)
			_, err := c.Info(t.Context())
			var answer *api.Error
			if !errors.As(err, &answer) || answer.Code != tc.code || err.Error() != tc.want {
				t.Errorf("%s: got %v, want %d %s", tc.reason, err, tc.code, tc.want)
			}
		})
	}
	c, a := newRig(t).through(t, clienttest.Token)
	a.Set(clienttest.State{Absent: true})
	if offered, err := c.Offered(t.Context()); offered || err != nil {
		t.Errorf("without an APIService: %t, %v", offered, err)
	}
	a.Close()
	_, err := c.Offered(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "cannot ask the API server at https://") {
		t.Errorf("without a cluster: %v", err)
	}
}

// TestUndiscoverable: a user who may not discover APIs has none.
func TestUndiscoverable(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	c, err := Through(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if offered, err := c.Offered(t.Context()); offered || err != nil {
		t.Errorf("got %t, %v", offered, err)
	}
}

// TestRedirected: the credentials go to the API server only, whatever a server behind it answers.
func TestRedirected(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the request was sent to another server")
	}))
	defer thief.Close()
	a := clienttest.New(t, http.RedirectHandler(thief.URL, http.StatusFound))
	c, err := Through(a.Config(clienttest.Token))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "it sent a redirect") {
		t.Errorf("got %v", err)
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/info", nil))
	if w.Code != http.StatusBadGateway || w.Header().Get("Location") != "" {
		t.Errorf("a browser gets %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// TestThroughWatch: a stream is a watch for the API server. It goes on after the API server has cut it.
func TestThroughWatch(t *testing.T) {
	r := newRig(t)
	waiting := spantest.Unschedulable()
	r.hub.Publish([]api.Update{{Trace: waiting, Open: true, AsOf: asOf}})
	c, a := r.through(t, clienttest.Token)
	var got []string
	for e, err := range c.Watch(t.Context(), object.Ref{Namespace: "default"}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Trace != nil:
			got = append(got, "trace")
		case e.Lost != nil:
			got = append(got, "lost")
		case e.Synced:
			got = append(got, "synced")
		}
		switch {
		case slices.Equal(got, []string{"trace", "synced"}):
			a.Cut()
		case len(got) == 5:
			want := []string{"trace", "synced", "lost", "trace", "synced"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			stream := "GET /apis/lifeline.dev/v1alpha1/visiblechanges?namespace=default&stream=watch&watch=true"
			if diff := cmp.Diff([]string{stream, stream}, a.Asked()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			return
		}
	}
}

// TestRevoked: a stream ends with a sentence when the user has lost the right.
func TestRevoked(t *testing.T) {
	r := newRig(t)
	c, a := r.through(t, clienttest.Token)
	var last error
	for e, err := range c.Watch(t.Context(), object.Ref{}) {
		if e.Synced {
			a.Set(clienttest.State{Forbidden: true})
			a.Cut()
		}
		last = err
	}
	if last == nil || !strings.HasPrefix(last.Error(), "you may not ask the server") {
		t.Errorf("the stream ended with %v", last)
	}
}
