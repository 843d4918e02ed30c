// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// problems returns the next event of a stream of problems: a heartbeat, or the lines of a list.
func (l *listener) problems() []string {
	l.t.Helper()
	list, other := l.list()
	if other != "" {
		return []string{other}
	}
	return lines(list)
}

// list returns the next list of a stream of problems, or another event: a heartbeat, or the end.
func (l *listener) list() (list problems.List, other string) {
	l.t.Helper()
	for l.in.Scan() {
		line := l.in.Text()
		data, is := strings.CutPrefix(line, "data: ")
		switch {
		case strings.HasPrefix(line, ":"):
			return list, "heartbeat"
		case is:
			if err := json.Unmarshal([]byte(data), &list); err != nil {
				l.t.Fatal(err)
			}
			return list, ""
		}
	}
	return list, "end"
}

func (l *listener) wantProblems(want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.problems(), cmpopts.EquateEmpty()); diff != "" {
		l.t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProblemStream: a stream has the present problems at its start and after each change of a selected one.
func TestProblemStream(t *testing.T) {
	web, api := deployment("default", "web"), deployment("shop", "api")
	hub := tracked(failing(web, 1, "web", "fails"))
	s := start(t, Options{Problems: hub})
	s.pace = 0
	l, shop := s.open(t, "problems/stream", ""), s.open(t, "problems/stream?namespace=shop", "")
	l.wantProblems("1 in [default]: Deployment web fails")
	shop.wantProblems()
	hub.Publish(snapshot(failing(web, 1, "web", "fails otherwise")))
	l.wantProblems("1 in [default]: Deployment web fails otherwise")
	hub.Publish(snapshot(failing(web, 1, "web", "fails otherwise"), failing(api, 2, "api", "fails")))
	l.wantProblems("1 in [default]: Deployment web fails otherwise", "1 in [shop]: Deployment api fails")
	shop.wantProblems("1 in [shop]: Deployment api fails") // and nothing of the other change
	hub.Publish(snapshot())
	l.wantProblems()
	_ = s.Close()
	l.wantProblems("end")
}

// TestProblemStreamPace: changes wait for the pace, and heartbeats do not.
func TestProblemStreamPace(t *testing.T) {
	web := deployment("default", "web")
	hub := tracked(failing(web, 1, "web", "fails"))
	s := start(t, Options{Problems: hub})
	s.pace, s.heartbeat = time.Hour, time.Millisecond
	l := s.open(t, "problems/stream", "")
	l.wantProblems("1 in [default]: Deployment web fails")
	hub.Publish(snapshot())
	for range 3 {
		l.wantProblems("heartbeat")
	}
}

// TestProblemStreamCause: a stream has the user of a cause as soon as the trace shows it.
func TestProblemStreamCause(t *testing.T) {
	edit := spantest.New("edit")
	edit.Add(nil, "reconcile Deployment", "deployment-controller", deployment("default", "web"), 0, 9000,
		span.KeyActorUser.String("jane")).Outcome = span.Failed
	web := failing(deployment("default", "web"), 1, "web", "fails")
	web.Cause = &problems.Cause{TraceID: edit.Trace.ID.String(), Who: "kubectl", Command: "kubectl apply"}
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{})
	s := start(t, Options{Access: v.Access, Problems: tracked(web)})
	s.pace, s.renewal = 0, time.Millisecond
	l := s.open(t, "problems/stream", "")
	for _, who := range []string{"kubectl", "jane"} {
		if got, other := l.list(); other != "" || got.Problems[0].Cause.Who != who {
			t.Fatalf("got %+v %s, want %s", got.Problems, other, who)
		}
		v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{edit.Trace}})
	}
}

// TestProblemStreamOfOthers: a stream has heartbeats while only others change.
func TestProblemStreamOfOthers(t *testing.T) {
	hub := tracked()
	s := start(t, Options{Problems: hub})
	s.pace, s.heartbeat = 0, 20*time.Millisecond
	l := s.open(t, "problems/stream?namespace=shop", "")
	l.wantProblems()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				hub.Publish(snapshot(failing(deployment("default", "web"), i%60, "web", "fails")))
			}
		}
	}()
	l.wantProblems("heartbeat")
	close(stop)
	<-ended
}

// TestProblemStreamRefusals: wrong parameters, a server before its first look, and one at its limit.
func TestProblemStreamRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		query   string
		want    int
	}{
		"unknown parameter":     {Options{Problems: tracked()}, "?since=1h", http.StatusBadRequest},
		"before the first look": {Options{}, "", http.StatusServiceUnavailable},
	} {
		res, body := start(t, c.options).get(t, "/api/v1/problems/stream"+c.query)
		if res.StatusCode != c.want {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
	s := start(t, Options{Problems: tracked(), MaxStreams: 1})
	s.open(t, "problems/stream", "").wantProblems()
	if res, body := s.get(t, "/api/v1/problems/stream"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("above the limit: %d %s", res.StatusCode, body)
	}
}
