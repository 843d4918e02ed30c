// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

const (
	// bodyPatience limits the time to read one batch.
	bodyPatience = 30 * time.Second
	// sinkPatience limits the wait for the sink. It is well below the API server's timeout of 30 s.
	sinkPatience = 10 * time.Second
	// retryAfter is the Retry-After of a refused batch, in seconds. The API server retries up to 10
	// times within its timeout of 30 s, so this spreads the retries over that time.
	retryAfter = 3
)

// problem is the error response to a refused request.
type problem struct {
	code int
	text string
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// ServeHTTP accepts a batch of the API server's audit webhook: an EventList in JSON, optionally
// compressed with gzip. The status is 200 once the sink has accepted the whole batch. It is 401
// without a valid token, and 429 or 503 with Retry-After if the sink cannot accept the batch. Other
// statuses describe the fault of the request. With any status but 200 nothing was accepted.
func (s *Source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.take(w, r)
	if err == nil {
		s.counters.batches.Add(1)
		w.WriteHeader(http.StatusOK)
		return
	}
	var p *problem
	switch {
	case errors.As(err, &p):
	case errors.Is(err, ErrFull):
		p = &problem{http.StatusTooManyRequests, ErrFull.Error()} // the full text may contain local paths
	default:
		p = &problem{http.StatusServiceUnavailable, err.Error()}
	}
	s.counters.refuse(p.code)
	h := w.Header()
	switch p.code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusUnsupportedMediaType:
		h.Set("Accept-Encoding", "gzip")
	}
	if p.code != http.StatusTooManyRequests && p.code != http.StatusServiceUnavailable {
		h.Set("Connection", "close") // the rest of the body stays unread
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.code)
	_, _ = io.WriteString(w, p.text+"\n")
}

// take reads a batch and passes it to the sink.
func (s *Source) take(w http.ResponseWriter, r *http.Request) error {
	if !s.Token.Admits(r) {
		return &problem{
			http.StatusUnauthorized,
			"the request does not carry the receiver's token: set it in the webhook's kubeconfig, with an https server",
		}
	}
	packed, err := acceptable(r)
	if err != nil {
		return err
	}
	if r.ContentLength > s.MaxBody {
		return s.tooLarge()
	}
	// A test's recorder has no deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(s.deadline())
	body := http.MaxBytesReader(w, r.Body, s.MaxBody)
	head, err := s.beginning(body)
	defer wipe(head)
	if err != nil {
		return err
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	default:
		return &problem{http.StatusTooManyRequests, "too many batches are being read"}
	}
	text, err := s.read(io.MultiReader(bytes.NewReader(head), body), packed, r.ContentLength)
	defer wipe(text)
	if err != nil {
		return err
	}
	s.counters.bytes.Add(uint64(len(text)))
	batch, tally, err := s.batch(text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.sinkPatience, errSlowSink)
	defer cancel()
	if err := s.hand(ctx, batch); err != nil {
		return err
	}
	s.count(tally)
	return nil
}

// errSlowSink is the error for a batch that the sink did not accept in time.
var errSlowSink = errors.New("the batch was not stored in time")

// deadline uses the system clock, as deadlines of connections do.
func (s *Source) deadline() time.Time { return time.Now().Add(s.patience) }

// acceptable checks a request before its body is read. It reports whether the body is compressed.
func acceptable(r *http.Request) (packed bool, err error) {
	if r.Method != http.MethodPost {
		return false, &problem{http.StatusMethodNotAllowed, "send audit batches with POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return false, &problem{http.StatusUnsupportedMediaType, "send audit batches as application/json"}
	}
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return false, nil
	case "gzip":
		return true, nil
	}
	return false, &problem{http.StatusUnsupportedMediaType, "compress audit batches with gzip or not at all"}
}

func (s *Source) tooLarge() error {
	return &problem{http.StatusRequestEntityTooLarge, "the batch is larger than " + strconv.FormatInt(s.MaxBody, 10) +
		" bytes: let the API server send smaller ones " +
		"(--audit-webhook-batch-max-size, --audit-webhook-truncate-enabled)"}
}

// headSize is the part of a body that is read before the request takes its turn. So a slow sender
// does not take the turn of an API server.
const headSize = 64 << 10

// beginning reads the first headSize bytes of a body. The caller must wipe the result, also with an
// error.
func (s *Source) beginning(body io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return head, s.unreadable(err)
	}
	return head[:n], nil
}

// read reads and decompresses a whole body, up to MaxBody. The caller must wipe the result, also
// with an error.
func (s *Source) read(body io.Reader, packed bool, length int64) ([]byte, error) {
	in := body
	if packed {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, s.unreadable(err)
		}
		in, length = unpacked, 0
	}
	var text bytes.Buffer
	text.Grow(int(min(max(length, 64<<10), 1<<20)) + bytes.MinRead)
	for {
		if text.Available() < bytes.MinRead { // grow by hand to wipe the old buffer
			grown := bytes.NewBuffer(make([]byte, 0, 2*text.Cap()))
			grown.Write(text.Bytes())
			wipe(text.Bytes())
			text = *grown
		}
		n, err := in.Read(text.AvailableBuffer()[:text.Available()])
		text.Write(text.AvailableBuffer()[:n])
		switch {
		case int64(text.Len()) > s.MaxBody:
			return text.Bytes(), s.tooLarge()
		case errors.Is(err, io.EOF):
			return text.Bytes(), nil
		case err != nil:
			return text.Bytes(), s.unreadable(err)
		}
	}
}

// unreadable converts an error from reading a body.
func (s *Source) unreadable(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return s.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &problem{http.StatusRequestTimeout, "the batch did not arrive in time"}
	}
	return &problem{http.StatusBadRequest, "the batch cannot be read: it is cut off or damaged"}
}

// batch returns the observations of a batch. A batch that is not valid JSON or no EventList is
// refused as a whole. The tally counts single invalid events; it is added to Stats after the sink
// has accepted the batch.
func (s *Source) batch(text []byte) ([]*observation.Observation, *tally, error) {
	var out []*observation.Observation
	t := new(tally)
	err := decodeList(text, func(e *event) { out = s.add(out, e, t) })
	if err != nil {
		s.counters.damaged.Add(1)
		return nil, nil, &problem{http.StatusBadRequest, "the batch is not an EventList of audit.k8s.io/v1 in JSON"}
	}
	return out, t, nil
}

// tally counts events by result.
type tally struct {
	events, writes, damaged, impossible uint64
	passed                              [reasons]uint64
}

// add appends the observations of an event; a nil event counts as damaged.
func (s *Source) add(out []*observation.Observation, e *event, t *tally) []*observation.Observation {
	if e == nil {
		t.damaged++
		return out
	}
	t.events++
	seen := s.Now()
	var changed bool
	e.received, e.answered, changed = timestamp.Interval(e.received, e.answered, seen)
	writes, why := s.writes(e)
	if why != taken {
		t.passed[why]++
		return out
	}
	t.writes += uint64(len(writes))
	if changed {
		t.impossible++
	}
	for _, w := range writes {
		out = append(out, &observation.Observation{Seen: seen, Source: observation.SourceAudit, Write: w})
	}
	return out
}

func (s *Source) count(t *tally) {
	s.counters.events.Add(t.events)
	s.counters.writes.Add(t.writes)
	s.counters.damaged.Add(t.damaged)
	s.counters.impossible.Add(t.impossible)
	for i, n := range t.passed {
		s.counters.passed[i].Add(n)
	}
}

// hand passes a batch to the sink, unless it is empty.
func (s *Source) hand(ctx context.Context, batch []*observation.Observation) error {
	if len(batch) == 0 {
		return nil
	}
	return s.Sink(ctx, batch)
}

// wipe overwrites a text that may contain secrets.
func wipe(text []byte) { clear(text[:cap(text)]) }
