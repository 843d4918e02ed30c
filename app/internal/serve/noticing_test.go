// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// pager is a receiver of notices, with the IDs of its requests.
type pager struct{ got chan string }

func (p *pager) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var event struct{ ID string }
	_ = json.Unmarshal(body, &event)
	p.got <- event.ID
}

// noticesLife is one life of a server with a receiver, over a folder.
type noticesLife struct {
	*restored

	world *world
	board *notice.Board
	part  *noticing
}

// beginNotices begins a life.
func beginNotices(t *testing.T, dir, url string) *noticesLife {
	t.Helper()
	conf := &config.NoticesConfiguration{
		After: metav1.Duration{Duration: time.Minute},
		Receivers: []config.NoticeReceiverConfiguration{
			{Name: "team", Format: config.NoticesCloudEvents, URL: url},
		},
	}
	w := newWorldOver(t, dir, nil)
	log := slog.New(slog.DiscardHandler)
	board, err := restoreNotices(t.Context(), w.Journal, conf, log)
	must(t, err)
	leads := func() bool { return true }
	r := w.restore(t, recorderOptions{Notices: board, Tells: leads})
	return &noticesLife{r, w, board, newNoticing(conf, "c1", board, leads, log, func(err error) { t.Error(err) })}
}

// see stores a look with these problems.
func (l *noticesLife) see(t *testing.T, now time.Time, problems problem.List) {
	t.Helper()
	of := &look{Changes: &journal.Changes{AsOf: now, State: map[string][]byte{}}}
	l.tell(of, nil, nil, &problem.Snapshot{List: problems}, now)
	must(t, l.journal.Commit(t.Context(), of.Changes))
	l.board.Stored()
}

// kill ends the life without a last look. Notices that are not stored as delivered are lost.
func (l *noticesLife) kill(t *testing.T) {
	t.Helper()
	must(t, l.part.Stop())
	l.world.end()
}

// TestNoticesKilled kills a server at each point between a problem and its notices. None is lost, and a
// repetition has the same ID.
func TestNoticesKilled(t *testing.T) {
	p := &pager{make(chan string, 100)}
	server := httptest.NewServer(p)
	defer server.Close()
	dir, now := t.TempDir(), time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	broken := problem.Problem{
		ID: "p1", Category: "image_not_found", Reason: "Deployment web cannot pull image web:2", Since: now,
		Object: object.Ref{Kind: object.Kind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"},
	}
	list := problem.List{AsOf: now, Problems: []problem.Problem{broken}}
	var got []string
	step := func(after time.Duration, delivers bool) *noticesLife {
		l := beginNotices(t, dir, server.URL)
		l.see(t, now.Add(after), list)
		if delivers {
			must(t, l.part.Start(t.Context()))
			got = append(got, <-p.got)
		}
		return l
	}

	l := beginNotices(t, dir, server.URL)
	must(t, l.look(t.Context(), now)) // the first one is never idle
	l.see(t, now.Add(59*time.Second), list)
	for at, want := range map[time.Duration]bool{59 * time.Second: true, time.Minute: false} {
		l.Now = func() time.Time { return now.Add(at) }
		if got := l.idle(t.Context()); got != want {
			t.Errorf("after %s: idle is %t, want %t", at, got, want)
		}
	}
	l.kill(t)
	step(time.Minute, false).kill(t) // stored, not delivered
	step(61*time.Second, true).kill(t)
	l = step(62*time.Second, true) // delivered, but that was not stored: a repetition
	for !l.board.Changed() {       // the sender has read the answer; that has no signal
		time.Sleep(time.Millisecond)
	}
	l.see(t, now.Add(63*time.Second), list)
	l.kill(t)
	step(64*time.Second, false).kill(t)
	list.Problems = nil
	l = step(10*time.Minute, false) // the first looks of a server do not end a problem
	l.see(t, now.Add(11*time.Minute+time.Second), list)
	must(t, l.part.Start(t.Context()))
	got = append(got, <-p.got)
	l.kill(t)
	close(p.got)
	for id := range p.got {
		got = append(got, id)
	}
	if diff := cmp.Diff([]string{"p1/started", "p1/started", "p1/resolved"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
