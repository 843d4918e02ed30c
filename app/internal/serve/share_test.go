// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/identity"
)

// TestShare: one caller has at most maxShare running requests. Others have their own, and an ended request frees its
// place.
func TestShare(t *testing.T) {
	g := newGuarded(t, false, "shop")
	inside, end := make(chan error), make(chan struct{})
	callers := identity.New(identity.Options{Doors: []identity.Door{newNamed()}})
	slow := callers.Wrap(g.permitting.wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := g.permitting.access(r)
		inside <- err
		<-end
	})))
	ask := func() {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/watch", nil)
		r.Header.Set("User", ana)
		slow.ServeHTTP(httptest.NewRecorder(), r)
	}
	for range maxShare {
		go ask()
		<-inside
	}
	const list = "/api/v1/traces"
	w := g.get(t, ana, list)
	const want = "ana has 32 requests and streams open"
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), want) {
		t.Errorf("one request more: %d %s", w.Code, w.Body)
	}
	if w := g.get(t, "eve", list); w.Code != http.StatusForbidden {
		t.Errorf("another caller: %d, want 403", w.Code)
	}
	end <- struct{}{}
	for w.Code != http.StatusOK { // the place is free soon after the handler's end
		w = g.get(t, ana, list)
	}
	close(end)
	for range 100 {
		if w := g.get(t, ana, list); w.Code != http.StatusOK && w.Code != http.StatusTooManyRequests {
			t.Fatalf("after the end: %d %s", w.Code, w.Body)
		}
	}
}
