// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

type refused struct{}

func (refused) Error() string { return "ana may not list changes" }
func (refused) Status() int   { return http.StatusForbidden }

// TestRefusedAccess: every path answers with the refusal of its access.
func TestRefusedAccess(t *testing.T) {
	s := start(t, &memory{})
	s.Access = func(*http.Request) (store.Access, error) { return store.Access{}, refused{} }
	for pattern := range s.handlers() {
		path := strings.NewReplacer("{traceID}", "1", "{service...}", "x/operations").Replace(pattern)
		res, body := s.get(t, s.url+path)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "ana may not list changes") {
			t.Errorf("%s: got %d %s", path, res.StatusCode, body)
		}
	}
}
