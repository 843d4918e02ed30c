// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// listener reads a stream.
type listener struct {
	t   *testing.T
	in  *bufio.Scanner
	end context.CancelFunc
}

// listen opens a stream. The body is closed with the test.
func (s *serving) listen(t *testing.T, query string) *listener {
	t.Helper()
	return s.open(t, "watch"+query, "")
}

// listenAfter opens a stream of summaries that resumes after an event ID.
func (s *serving) listenAfter(t *testing.T, id string) *listener {
	t.Helper()
	return s.open(t, "watch?view=summary", id)
}

func (s *serving) open(t *testing.T, path, after string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, type %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 64<<20)
	return &listener{t: t, in: in, end: cancel}
}

// place is the next event ID.
func (l *listener) place() string {
	l.t.Helper()
	for l.in.Scan() {
		if id, is := strings.CutPrefix(l.in.Text(), "id: "); is {
			return id
		}
	}
	l.t.Fatal("the stream ended without an event ID")
	return ""
}

// next is the next event: its name, and of its data what matters.
func (l *listener) next() string {
	l.t.Helper()
	name := ""
	for l.in.Scan() {
		line := l.in.Text()
		switch {
		case strings.HasPrefix(line, ":"):
			return "heartbeat"
		case strings.HasPrefix(line, "event: "):
			name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			data := strings.TrimPrefix(line, "data: ")
			for id, tr := range map[string]*span.Trace{
				"apply":         spantest.Apply(),
				"unschedulable": spantest.Unschedulable(),
				"rollout":       spantest.Rollout(),
			} {
				if strings.Contains(data, `"traceId":"`+tr.ID.String()+`"`) {
					name += " " + id
					if strings.Contains(data, `"open":true`) {
						name += " open"
					}
				}
			}
			return name
		}
	}
	return "end"
}

// data is the data of the next event.
func (l *listener) data() string {
	l.t.Helper()
	for l.in.Scan() {
		if data, is := strings.CutPrefix(l.in.Text(), "data: "); is {
			return data
		}
	}
	l.t.Fatal("the stream ended without an event")
	return ""
}

func (l *listener) want(events ...string) {
	l.t.Helper()
	for _, want := range events {
		if got := l.next(); got != want {
			l.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func opened(t *span.Trace) Update   { return Update{Trace: t, Open: true, AsOf: asOf} }
func finished(t *span.Trace) Update { return Update{Trace: t, AsOf: asOf} }
func withdrawn(t *span.Trace) Update {
	return Update{Trace: &span.Trace{ID: t.ID}, Withdrawn: true, AsOf: asOf}
}

// TestSyncedTime: the time of the data comes also without traces.
func TestSyncedTime(t *testing.T) {
	s := start(t, Options{})
	s.hub.Publish([]Update{{AsOf: asOf}})
	l := s.listen(t, "")
	want := `data: {"asOf":"` + asOf.Format(time.RFC3339Nano) + `"}`
	for l.in.Scan() {
		if data := l.in.Text(); strings.HasPrefix(data, "data: ") {
			if data != want {
				t.Errorf("got %s, want %s", data, want)
			}
			return
		}
	}
	t.Error("the stream ended")
}

func TestStream(t *testing.T) {
	s := start(t, Options{})
	s.hub.Publish([]Update{opened(spantest.Apply()), opened(spantest.Unschedulable()), {}})
	s.hub.Publish([]Update{finished(spantest.Apply())})
	l := s.listen(t, "")
	l.want("trace unschedulable open", "synced")
	s.hub.Publish([]Update{opened(spantest.Rollout())})
	l.want("trace rollout open")
	s.hub.Publish([]Update{finished(spantest.Rollout())})
	l.want("trace rollout")
	s.hub.Publish([]Update{withdrawn(spantest.Apply()), withdrawn(spantest.Unschedulable())})
	l.want("withdrawn unschedulable") // this client never got the other
	second := s.listen(t, "")
	second.want("synced")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l.want("end")
	second.want("end")
	for range 2 {
		if cut := <-s.counts.closed; cut {
			t.Error("a stream counts as cut off")
		}
	}
	if res, body := s.get(t, "/api/v1/watch"); res.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(string(body), "stopping") {
		t.Errorf("after Close: %d %s", res.StatusCode, body)
	}
}

func TestStreamOfAnObject(t *testing.T) {
	s := start(t, Options{})
	s.hub.Publish([]Update{opened(spantest.Unschedulable()), opened(spantest.Rollout())})
	l := s.listen(t, "?kind=Pod&name=web-6cf-x7&namespace=default")
	l.want("trace unschedulable open", "synced")
	s.hub.Publish([]Update{finished(spantest.Rollout()), finished(spantest.Apply())})
	l.want("trace apply")
	other := spantest.Unschedulable()
	other.Spans = other.Spans[:1]
	s.hub.Publish([]Update{opened(other)})
	l.want("withdrawn unschedulable") // it does not touch the Pod any more
	l.end()
	<-s.counts.closed
}

func TestStreamSaysThatItIsThere(t *testing.T) {
	s := start(t, Options{})
	s.heartbeat = time.Millisecond
	l := s.listen(t, "")
	l.want("synced", "heartbeat", "heartbeat")
}

// TestStreamOfSummaries: a list needs no documents.
func TestStreamOfSummaries(t *testing.T) {
	s := start(t, Options{})
	s.hub.Publish([]Update{opened(spantest.Unschedulable())})
	l := s.listen(t, "?view=summary")
	l.want("summary unschedulable open", "synced")
	s.hub.Publish([]Update{finished(spantest.Apply()), withdrawn(spantest.Unschedulable())})
	l.want("summary apply", "withdrawn unschedulable")
	if res, body := s.get(t, "/api/v1/watch?view=tree"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

// TestStreamResumes: a client that comes back gets what it has missed, and nothing twice. One that was
// away for too long is told.
func TestStreamResumes(t *testing.T) {
	s := start(t, Options{})
	s.hub.Publish([]Update{opened(spantest.Unschedulable()), opened(spantest.Apply())})
	l := s.listen(t, "?view=summary")
	l.want("summary unschedulable open", "summary apply open", "synced")
	place := l.place()
	l.end()
	s.hub.Publish([]Update{
		finished(spantest.Apply()), opened(spantest.Rollout()), withdrawn(spantest.Unschedulable()),
	})
	l = s.listenAfter(t, place)
	l.want("summary apply", "summary rollout open", "withdrawn unschedulable", "synced")
	if next := l.place(); next == place {
		t.Error("the event ID is the former one")
	}
	l.end()
	for n := range maxEnded {
		s.hub.Publish([]Update{finished(&span.Trace{ID: span.DeriveTraceID(fmt.Sprint(n))})})
	}
	for _, gone := range []string{place, "another-7", "", "x"} {
		l = s.listenAfter(t, gone)
		if gone != "" {
			l.want("resync")
		}
		l.want("summary rollout open", "synced")
		l.end()
	}
}

func TestTooManyStreams(t *testing.T) {
	s := start(t, Options{MaxStreams: 1})
	l := s.listen(t, "")
	l.want("synced")
	if res, body := s.get(t, "/api/v1/watch"); res.StatusCode != http.StatusServiceUnavailable ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
	if res, _ := s.get(t, "/api/v1/info"); res.StatusCode != http.StatusOK {
		t.Errorf("streams take the place of requests: %d", res.StatusCode)
	}
	l.end()
	<-s.counts.closed
	for { // the place is free a moment after the stream was counted
		select {
		case s.streams <- struct{}{}:
			<-s.streams
			s.listen(t, "").want("synced")
			return
		case <-t.Context().Done():
			t.Fatal("the place is never free")
		}
	}
}

// TestStreamOfAClientThatDoesNotRead is cut off, and does not delay others.
func TestStreamOfAClientThatDoesNotRead(t *testing.T) {
	s := start(t, Options{})
	s.patience = 50 * time.Millisecond
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	big := spantest.Many(2000)
	deadline := time.After(4 * time.Minute)
	for n := 0; ; n++ {
		version := *big
		version.Reason = fmt.Sprint(n)
		s.hub.Publish([]Update{opened(&version)})
		select {
		case cut := <-s.counts.closed:
			if !cut {
				t.Error("it does not count as cut off")
			}
			return
		case <-deadline:
			t.Fatal("it was not cut off")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestSubscriptionIsBounded(t *testing.T) {
	h := &Hub{}
	h.Publish([]Update{opened(spantest.Apply())})
	s, _, _ := h.subscribe("", time.Time{})
	defer h.unsubscribe(s)
	one := func(n int) Update {
		return opened(&span.Trace{ID: span.DeriveTraceID(fmt.Sprint(n))})
	}
	for range 3 {
		for n := range maxPending {
			h.Publish([]Update{one(n)})
		}
	}
	if got := s.waiting(); got != maxPending+1 {
		t.Errorf("%d traces wait: of each, the latest version is enough", got)
	}
	if v, lost := s.take(); v == nil || lost || v.ID() != spantest.Apply().ID {
		t.Errorf("got %v, lost %v", v, lost)
	}
	h.Publish([]Update{one(maxPending), one(maxPending + 1)})
	if _, lost := s.take(); !lost {
		t.Error("more waits than may")
	}
}

// TestHubForgets: an ended trace takes no memory.
func TestHubForgets(t *testing.T) {
	h := &Hub{}
	for n := range 5000 {
		tr := &span.Trace{ID: span.DeriveTraceID(fmt.Sprint(n))}
		h.Publish([]Update{opened(tr), opened(tr)})
		h.Publish([]Update{finished(tr)})
	}
	if len(h.open) != 0 || len(h.order) > 200 || len(h.ended) > maxEnded {
		t.Errorf("%d open, %d in order, %d ended", len(h.open), len(h.order), len(h.ended))
	}
	h.Publish([]Update{finished(spantest.Many(maxEndedSpans))})
	if len(h.ended) != 0 || h.endedSpans != 0 {
		t.Errorf("%d ended traces with %d spans after a large one", len(h.ended), h.endedSpans)
	}
	a, b := spantest.Apply(), spantest.Rollout()
	h.Publish([]Update{opened(b), opened(a), finished(b), opened(b)})
	s, at, _ := h.subscribe("", time.Time{})
	defer h.unsubscribe(s)
	var got []string
	for v, _ := s.take(); v != nil; v, _ = s.take() {
		got = append(got, v.ID().String())
	}
	if diff := cmp.Diff([]string{b.ID.String(), a.ID.String()}, got); diff != "" || !at.Equal(asOf) {
		t.Errorf("%v: -want +got:\n%s", at, diff)
	}
}
