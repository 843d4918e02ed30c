// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// TestToken: with a token file, requests without the token are refused.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte("0123456789abcdef"))
	token, err := httpserve.Endpoint{TokenFile: file}.Token(httpserve.Purpose{Name: "audit batches"})
	if err != nil {
		t.Fatal(err)
	}
	for authorization, code := range map[string]int{
		"":                        401,
		"Bearer fedcba9876543210": 401,
		"Bearer 0123456789abcdef": 200,
	} {
		sink := newSink()
		source := newSource(t, sink, func(c *Config) { c.Token = token })
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(eventList(told())))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		source.ServeHTTP(w, r)
		if w.Code != code || (len(sink.ids()) == 1) != (code == 200) {
			t.Errorf("%q: got %d and %v", authorization, w.Code, sink.ids())
		}
		if code == 401 && (source.Stats().Refused[401] != 1 || w.Header().Get("WWW-Authenticate") != "Bearer") {
			t.Errorf("%q: refused %v", authorization, source.Stats().Refused)
		}
	}
}

// TestUnauthenticated: beside an authenticated source, an unauthenticated one gives times but no
// users.
func TestUnauthenticated(t *testing.T) {
	refused := told("responseStatus", `{"metadata":{},"code":403}`)
	for name, tc := range map[string]struct {
		unauthenticated, anonymous bool
		user                       string
		writes                     int
	}{
		"authenticated":               {false, false, "jane", 2},
		"alone":                       {true, false, "jane", 2},
		"beside an authenticated one": {true, true, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			source := newSource(
				t,
				newSink(),
				func(c *Config) { c.Unauthenticated, c.Anonymous = tc.unauthenticated, tc.anonymous },
			)
			got, tally, err := source.batch(
				eventList(told("impersonatedUser", `{"username":"jane"}`, "user", `{"username":"root"}`), refused),
			)
			if err != nil || len(got) != tc.writes {
				t.Fatalf("got %v, %v", got, err)
			}
			source.count(tally)
			w := got[0].Write
			if w.User != tc.user || (w.Impersonator == "") != tc.anonymous || (w.UserAgent == "") != tc.anonymous ||
				w.Unauthenticated != tc.unauthenticated ||
				w.Manager != "kubectl" {
				t.Errorf("got %+v", w)
			}
			if n := source.Stats().Passed["unauthenticated"]; (n == 1) != tc.anonymous {
				t.Errorf("%d events were skipped as unauthenticated", n)
			}
		})
	}
}
