// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// TestStopBeforeLists: after a stop before the first lists, the last look still takes the watches for late. The
// changes of the downtime were not read, so no trace counts as finished.
func TestStopBeforeLists(t *testing.T) {
	asked := make(chan struct{}, 100)
	answers := map[string]string{
		"/version": `{"major":"1","minor":"36"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`,
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, known := answers[r.URL.Path]; known {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/pods") {
			asked <- struct{}{}
		}
		<-r.Context().Done() // a list without an answer
	}))
	defer api.Close()
	w, err := newWatching(watch.Config{REST: &rest.Config{Host: api.URL}, Now: time.Now}, nil, newIntake(),
		&readiness{}, slog.New(slog.DiscardHandler), func(error) {})
	must(t, err)
	must(t, w.Start(t.Context()))
	<-asked
	must(t, w.Stop())
	if !w.late() {
		t.Error("the watches are not late, although nothing was listed")
	}
}

// TestFilledJournal: the start writes to a new journal only. A known one must open on a full disk.
func TestFilledJournal(t *testing.T) {
	p := startStored(t, t.TempDir())
	p.look()
	j := p.storage.journal
	wrote := 0
	j.Wrote = func(time.Duration) { wrote++ }
	must(t, markFilled(t.Context(), j))
	if wrote > 0 {
		t.Errorf("%d writes, want none", wrote)
	}
}
