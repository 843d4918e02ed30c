// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
)

// announcements is a server that takes announcements of runs in cluster "cluster-1".
type announcements struct {
	*httptest.Server
	mu sync.Mutex
	// responses are the status codes of the first requests; later ones get 200.
	responses []int
	took      []announcement.Announcement
}

func newAnnouncements(t *testing.T, responses ...int) *announcements {
	s := &announcements{responses: responses}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/info", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"cluster":"cluster-1"}`)
	})
	mux.HandleFunc("POST /api/v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var a announcement.Announcement
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.responses) > 0 {
			code := s.responses[0]
			s.responses = s.responses[1:]
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error":{"message":"not now"}}`)
			return
		}
		s.took = append(s.took, a)
		fmt.Fprint(w, `{}`)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestAnnounces: a server gets the command, each write once, and the end.
func TestAnnounces(t *testing.T) {
	for name, tc := range map[string]struct {
		responses []int
		writes    int
		log       string
	}{
		"at once":             {nil, 2, "to see this change again: lifeline trace "},
		"after a busy server": {[]int{http.StatusServiceUnavailable}, 2, "to see this change again: lifeline trace "},
		"rejected": {
			[]int{http.StatusMethodNotAllowed}, 0, "no server has this trace: not now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAnnouncements(t, tc.responses...)
			r := runCommand(t, func(c *Command) { c.Server = cli.Server{URL: s.URL, Named: true} },
				"create=ConfigMap/a", "create=ConfigMap/b", "exit=3")
			if r.code != 3 || r.err != nil || !strings.Contains(r.log, tc.log) {
				t.Errorf("code %d, %v:\n%s", r.code, r.err, r.log)
			}
			writes := map[string]int{}
			for _, a := range s.took {
				for _, w := range a.Writes {
					writes[w.Name]++
				}
			}
			if len(writes) != tc.writes || writes["a"] > 1 || writes["b"] > 1 {
				t.Errorf("the server got the writes %v", writes)
			}
			if n := len(s.took); tc.writes > 0 &&
				(n == 0 || s.took[n-1].Run.End.IsZero() || s.took[n-1].Run.ExitCode != 3) {
				t.Errorf("the server got no end: %+v", s.took)
			}
		})
	}
}

// TestAnnouncesNothing: a command without writes is not announced.
func TestAnnouncesNothing(t *testing.T) {
	s := newAnnouncements(t)
	if r := runCommand(t, func(c *Command) { c.Server = cli.Server{URL: s.URL, Named: true} }, "exit=0"); r.err != nil {
		t.Error(r.err)
	}
	if len(s.took) > 0 {
		t.Errorf("the server got %+v", s.took)
	}
}

// TestNamedServerMustAnswer: the command does not start with a wrong --server.
func TestNamedServerMustAnswer(t *testing.T) {
	r := runCommand(
		t,
		func(c *Command) { c.Server = cli.Server{URL: "http://127.0.0.1:1", Named: true} },
		"create=ConfigMap/a",
	)
	if r.err == nil || !strings.Contains(r.err.Error(), "no server answers") ||
		strings.Contains(r.out+r.log, "created") {
		t.Errorf("got %v\n%s%s", r.err, r.out, r.log)
	}
}
