// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAnnouncedToOneOfSeveral: one of several servers takes no command.
func TestAnnouncedToOneOfSeveral(t *testing.T) {
	a := newAnnounced(false, newIntake(), nil, time.Now, nil)
	must(t, a.Start(t.Context()))
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusConflict || w.Header().Get("Connection") != "close" {
		t.Errorf("it answers %d %v", w.Code, w.Header())
	}
	must(t, a.Stop())
}
