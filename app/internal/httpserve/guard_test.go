// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestGuardPatience: the time of a handler does not count as time of the client, also on a connection with
// an earlier response.
func TestGuardPatience(t *testing.T) {
	const patience = 100 * time.Millisecond
	for name, answer := range map[string]func(w http.ResponseWriter){
		"an error": func(w http.ResponseWriter) { http.Error(w, "late", http.StatusServiceUnavailable) },
		"a body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "late") },
		"nothing":  func(http.ResponseWriter) {},
	} {
		t.Run(name, func(t *testing.T) {
			guard := Guard{Error: func(http.ResponseWriter, int, string) {}, Patience: patience}
			srv := httptest.NewServer(guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(3 * patience)
				answer(w)
			})))
			defer srv.Close()
			for range 2 {
				res, err := srv.Client().Get(srv.URL)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Error(err)
				}
				_ = res.Body.Close()
			}
		})
	}
}
