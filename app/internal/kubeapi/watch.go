// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// watch follows the changes after a resource version, which is a time. The API keeps the changes that ended lately;
// before them the answer is 410, and the client lists again. Without a version, the watch begins with a list.
func (h *handler) watch(w http.ResponseWriter, r *http.Request, t target, q url.Values) {
	as, failure := formOf(r)
	var sel *selected
	if failure == nil {
		sel, failure = t.selectOf(q)
	}
	out := &watching{
		handler: h, target: t, selected: sel, as: as, include: include(q), out: w,
		bookmarks: isTrue(q.Get("allowWatchBookmarks")), shown: map[string]bool{},
	}
	if failure == nil {
		failure = out.begin(r, q)
	}
	if failure != nil {
		WriteFailure(w, failure)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if seconds, err := strconv.Atoi(q.Get("timeoutSeconds")); err == nil && seconds > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	follow := maps.Clone(sel.object)
	follow.Set("view", "summary")
	follow.Set("ended", out.from.Format(time.RFC3339Nano))
	h.api.ServeHTTP(out, t.inner(ctx, r, verbWatch, apiRoot+"watch", follow))
	if out.code != 0 && out.code != http.StatusOK && !out.begun {
		WriteFailure(w, (&captured{code: out.code, body: out.line}).failure())
	}
}

// watching is a watch of one client. It is the http.ResponseWriter of the API's stream of events, and writes those of
// Kubernetes to out.
type watching struct {
	*handler
	target
	*selected
	as        form
	include   metav1.IncludeObjectPolicy
	bookmarks bool
	out       http.ResponseWriter

	// from is the version of the client's last list or event. Earlier versions are not sent.
	from time.Time
	// initial are the events before those of the stream.
	initial []metav1.WatchEvent
	// code is the status of the API, and header its header. begun is true after the first byte to the client.
	code   int
	header http.Header
	begun  bool
	// synced is true after the open changes. shown are the open changes that the client has.
	synced bool
	shown  map[string]bool
	// beat is the version at the last sign of life of the stream.
	beat time.Time
	// line is the part of a line so far, or the body of an error. event and data are those of the present event.
	line        bytes.Buffer
	event, data string
}

// errEnd ends the stream of the API.
var errEnd = errors.New("the watch has ended")

// initialEnd marks the bookmark after the initial events.
const initialEnd = metav1.InitialEventsAnnotationKey

// begin reads the version of a request, and lists the changes before it if the client has none.
func (s *watching) begin(r *http.Request, q url.Values) *metav1.Status {
	version, send := q.Get("resourceVersion"), q.Get("sendInitialEvents")
	switch {
	case send != "" && q.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchNotOlderThan):
		return Failure(http.StatusBadRequest, "sendInitialEvents needs resourceVersionMatch=NotOlderThan")
	case send == "" && q.Get("resourceVersionMatch") != "":
		return Failure(http.StatusBadRequest, "resourceVersionMatch needs sendInitialEvents")
	case isTrue(send) || send == "" && (version == "" || version == "0"):
		return s.list(r, isTrue(send))
	case version == "" || version == "0":
		s.from = s.asOf()
		return nil
	}
	var err error
	if s.from, err = timeOf(version); err != nil {
		return Failure(http.StatusBadRequest, "%v", err)
	}
	if s.from.After(s.asOf()) {
		return expired()
	}
	return nil
}

func expired() *metav1.Status {
	return Failure(http.StatusGone,
		"too old resource version: the server does not have all changes since then, list again")
}

// list makes the initial events of a list, and marks their end.
func (s *watching) list(r *http.Request, mark bool) *metav1.Status {
	q := url.Values{"limit": {strconv.Itoa(maxList)}}
	found, meta, failure := s.page(r, s.target, s.selected, q)
	if failure != nil {
		return failure
	}
	var err error
	if s.from, err = timeOf(meta.ResourceVersion); err != nil {
		return Failure(http.StatusServiceUnavailable, "the server has no changes yet: it starts")
	}
	for i := range found {
		s.initial = append(s.initial, s.eventOf(watch.Added, &found[i]))
	}
	if mark {
		s.initial = append(s.initial, s.bookmark(s.from, map[string]string{initialEnd: "true"}))
	}
	return nil
}

// Header implements http.ResponseWriter. The header of the stream is not the client's.
func (s *watching) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

// WriteHeader implements http.ResponseWriter.
func (s *watching) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
}

// Unwrap serves http.ResponseController: deadlines and flushes are those of the client's connection.
func (s *watching) Unwrap() http.ResponseWriter { return s.out }

// Write takes a part of the stream.
func (s *watching) Write(b []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if s.code != http.StatusOK {
		return s.line.Write(b)
	}
	if err := s.open(); err != nil {
		return 0, err
	}
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			_, _ = s.line.Write(b) // to memory
			break
		}
		_, _ = s.line.Write(b[:i])
		line := s.line.String()
		s.line.Reset()
		b = b[i+1:]
		if err := s.take(line); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// open writes the header and the initial events, once.
func (s *watching) open() error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.out.Header().Set("Content-Type", jsonType)
	s.out.Header().Set("Cache-Control", "no-store")
	s.out.WriteHeader(http.StatusOK)
	for _, e := range s.initial {
		if err := s.send(e); err != nil {
			return err
		}
	}
	s.initial = nil
	return nil
}

// take reads a line of the stream.
func (s *watching) take(line string) error {
	switch {
	case strings.HasPrefix(line, "event: "):
		s.event = line[len("event: "):]
	case strings.HasPrefix(line, "data: "):
		s.data = line[len("data: "):]
	case line == ":":
		return s.alive()
	case line == "" && s.event != "":
		event, data := s.event, s.data
		s.event, s.data = "", ""
		return s.on(event, []byte(data))
	}
	return nil
}

// alive sends a bookmark. All versions before the last sign of life were sent since.
func (s *watching) alive() error {
	last := s.beat
	s.beat = s.asOf()
	if !s.bookmarks || !last.After(s.from) {
		return nil
	}
	s.from = last
	return s.send(s.bookmark(last, nil))
}

// on takes an event of the stream.
func (s *watching) on(event string, data []byte) error {
	switch event {
	case api.EventResync:
		if s.synced {
			return nil // of one amended change, whose outcome follows with the next list
		}
		_ = s.send(metav1.WatchEvent{Type: string(watch.Error), Object: raw(expired())})
		return errEnd
	case api.EventSynced:
		s.synced = true
	case api.EventWithdrawn:
		var gone api.Withdrawn
		if err := json.Unmarshal(data, &gone); err != nil {
			return err
		}
		if !s.shown[gone.TraceID] {
			return nil
		}
		delete(s.shown, gone.TraceID)
		return s.send(s.eventOf(watch.Deleted, &api.Summary{TraceID: gone.TraceID, AsOf: s.asOf()}))
	case api.EventSummary, api.EventAmended:
		var sum api.Summary
		if err := json.Unmarshal(data, &sum); err != nil {
			return err
		}
		return s.version(&sum, event == api.EventAmended)
	}
	return nil
}

// version sends a new version of a change.
func (s *watching) version(sum *api.Summary, amended bool) error {
	// Before the end of the open changes, the client may have an older version from its list.
	listed := !s.synced && !sum.Start.After(s.from)
	known, matches := s.shown[sum.TraceID], s.matches(sum)
	if matches && sum.Open {
		s.shown[sum.TraceID] = true
	} else {
		delete(s.shown, sum.TraceID)
	}
	switch {
	case !amended && !sum.AsOf.After(s.from) && !s.synced:
		return nil // the client has it
	case !matches && (known || listed):
		return s.send(s.eventOf(watch.Deleted, sum))
	case !matches:
		return nil
	case known || amended || listed:
		return s.send(s.eventOf(watch.Modified, sum))
	}
	return s.send(s.eventOf(watch.Added, sum))
}

// eventOf returns an event in the form that the client wants.
func (s *watching) eventOf(what watch.EventType, sum *api.Summary) metav1.WatchEvent {
	var o any
	switch s.as {
	case formTable:
		o = s.table([]metav1.TableRow{s.row(sum, s.clock(), s.include)},
			metav1.ListMeta{ResourceVersion: versionOf(sum.AsOf)})
	case formMetadata:
		o = metadataOf(s.changeOf(sum))
	default:
		o = s.changeOf(sum)
	}
	return metav1.WatchEvent{Type: string(what), Object: raw(o)}
}

// bookmark returns an event with a version alone.
func (s *watching) bookmark(at time.Time, annotations map[string]string) metav1.WatchEvent {
	var o any = &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: GroupVersion, Kind: s.kind()},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: versionOf(at), Annotations: annotations},
	}
	if s.as == formTable {
		o = s.table(nil, metav1.ListMeta{ResourceVersion: versionOf(at)})
	}
	return metav1.WatchEvent{Type: string(watch.Bookmark), Object: raw(o)}
}

func raw(o any) runtime.RawExtension { return runtime.RawExtension{Raw: encode(o)} }

func (s *watching) send(e metav1.WatchEvent) error {
	_, err := s.out.Write(append(encode(e), '\n')) //nolint:gosec // JSON
	return err
}
