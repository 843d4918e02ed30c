// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxShare bounds the running requests of one caller, streams included: half of either limit of the API. So one caller
// cannot shut out the others.
const maxShare = api.DefaultMaxRequests / 2

// shares counts the running requests of each caller.
type shares struct {
	mu      sync.Mutex
	running map[string]int
}

// take counts a request of a caller, or returns a shareError.
func (s *shares) take(caller string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[caller] >= maxShare {
		return shareError{caller}
	}
	if s.running == nil {
		s.running = map[string]int{}
	}
	s.running[caller]++
	return nil
}

// release ends a request of a caller.
func (s *shares) release(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[caller]--; s.running[caller] <= 0 {
		delete(s.running, caller)
	}
}

// shareError is the error of a caller with too many requests.
type shareError struct{ caller string }

func (e shareError) Error() string {
	return fmt.Sprintf("%s has %d requests and streams open, the most for one user: end some of them",
		object.OneLine(e.caller, maxText), maxShare)
}

func (shareError) Status() int { return http.StatusTooManyRequests }
