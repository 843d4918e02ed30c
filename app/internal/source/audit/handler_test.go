// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func zipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestServeHTTP(t *testing.T) {
	good := eventList(told(), told("verb", `"get"`), `7`, `{"stage":1}`)
	bomb := bytes.Repeat([]byte(" "), 2<<20)
	cases := map[string]struct {
		reason string
		method string
		media  string
		packed string
		body   []byte
		refuse error
		code   int
		taken  int
		header [2]string
	}{
		"Good": {
			reason: "invalid events are counted, and the others are accepted",
			body:   good,
			code:   200,
			taken:  1,
		},
		"Zipped":  {reason: "", packed: "gzip", body: zipped(t, good), code: 200, taken: 1},
		"Charset": {reason: "", media: "application/json; charset=utf-8", body: good, code: 200, taken: 1},
		"Empty":   {reason: "a batch may be empty", body: eventList(), code: 200},
		"Full": {
			reason: "the API server retries after 429",
			body:   good,
			refuse: ErrFull,
			code:   429,
			header: [2]string{"Retry-After", "3"},
		},
		"Broken": {
			reason: "the API server retries after 503",
			body:   good,
			refuse: errors.New("no"),
			code:   503,
			header: [2]string{"Retry-After", "3"},
		},
		"Get":        {reason: "", method: http.MethodGet, code: 405, header: [2]string{"Allow", "POST"}},
		"Media":      {reason: "", media: "application/x-protobuf", body: good, code: 415},
		"NoMedia":    {reason: "", media: "-", body: good, code: 415},
		"Encoding":   {reason: "", packed: "br", body: good, code: 415, header: [2]string{"Accept-Encoding", "gzip"}},
		"NotZipped":  {reason: "", packed: "gzip", body: good, code: 400},
		"CutZip":     {reason: "", packed: "gzip", body: zipped(t, good)[:50], code: 400},
		"NoJSON":     {reason: "", body: []byte("hello"), code: 400},
		"Cut":        {reason: "an incomplete batch is not valid", body: good[:len(good)-5], code: 400},
		"TwoBatches": {reason: "", body: append(append([]byte{}, good...), good...), code: 400},
		"OtherKind":  {reason: "", body: []byte(`{"kind":"Pod","apiVersion":"v1"}`), code: 400},
		"OldVersion": {
			reason: "",
			body: bytes.Replace(
				good,
				[]byte("audit.k8s.io/v1\",\"metadata"),
				[]byte("audit.k8s.io/v1beta1\",\"metadata"),
				1,
			),
			code: 400,
		},
		"TooLarge": {reason: "", body: bomb, code: 413},
		"ZippedLarge": {
			reason: "decompression stops at the limit",
			packed: "gzip",
			body:   zipped(t, bomb),
			code:   413,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			to := newSink()
			to.fail(tc.refuse)
			s := newSource(t, to, func(c *Config) { c.MaxBody = 1 << 20 })
			method := tc.method
			if method == "" {
				method = http.MethodPost
			}
			r := httptest.NewRequest(method, "/", bytes.NewReader(tc.body))
			switch tc.media {
			case "":
				r.Header.Set("Content-Type", "application/json")
			case "-":
			default:
				r.Header.Set("Content-Type", tc.media)
			}
			if tc.packed != "" {
				r.Header.Set("Content-Encoding", tc.packed)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != tc.code || len(to.ids()) != tc.taken || w.Header().Get(tc.header[0]) != tc.header[1] {
				t.Errorf(
					"%s: got %d %q with %v and %d writes, want %d, %d and %v",
					tc.reason,
					w.Code,
					w.Body,
					w.Header(),
					len(to.ids()),
					tc.code,
					tc.taken,
					tc.header,
				)
			}
			if n := s.Stats().Refused[tc.code]; tc.code != 200 && n != 1 {
				t.Errorf("%d refusals are counted, want 1", n)
			}
			if st := s.Stats(); st.Writes != uint64(tc.taken) ||
				tc.taken == 0 && (st.Events != 0 || st.Batches != 0 && tc.code != 200) {
				t.Errorf(
					"%s: %d events and %d writes of %d batches are counted, want %d writes",
					tc.reason,
					st.Events,
					st.Writes,
					st.Batches,
					tc.taken,
				)
			}
		})
	}
}

// TestInFlight: while one batch is in progress, a second one is refused with MaxInFlight 1.
func TestInFlight(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s, err := New(Config{MaxInFlight: 1, Sink: func(context.Context, []*observation.Observation) error {
		close(entered)
		<-leave
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	send := func() int {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(eventList(told())))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	first := make(chan int)
	go func() { first <- send() }()
	<-entered
	if code := send(); code != http.StatusTooManyRequests {
		t.Errorf("a second batch got %d, want 429", code)
	}
	close(leave)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first batch got %d, want 200", code)
	}
}

// TestSlowSink: a batch that the sink does not accept in time is refused and not counted. That
// happens well before the API server's timeout.
func TestSlowSink(t *testing.T) {
	s, err := New(Config{Sink: func(ctx context.Context, _ []*observation.Observation) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s.sinkPatience > 10*time.Second {
		t.Errorf("sinkPatience is %v, want at most 10 s: the API server times out after 30 s", s.sinkPatience)
	}
	s.sinkPatience = time.Millisecond
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(eventList(told())))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || s.Stats().Writes != 0 {
		t.Errorf("got %d %q with %v, %d writes counted", w.Code, w.Body, w.Header(), s.Stats().Writes)
	}
}
