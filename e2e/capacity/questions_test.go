// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
)

// askers is the number of clients that ask: one more than a server answers at a time.
const askers = 3

// costly are questions about all lifecycles, for which no index helps.
var costly = []string{
	"/api/v1/groups?" + url.Values{
		"by": {"namespace"}, "of": {"phase.startup"}, "quantiles": {"0.5,0.9,0.99"},
		"where": {`name.matches("[a-z]+.*[0-9a-f]{2}") || images.exists(i, i.matches("^x.*y$"))`},
	}.Encode(),
	"/api/v1/lifecycles?" + url.Values{
		"limit": {"1000"}, "where": {`images.all(i, !i.contains("nothing")) && duration > duration("0s")`},
	}.Encode(),
	"/api/v1/groups?" + url.Values{"by": {"name"}, "quantiles": {"0.5"}}.Encode(),
}

// answered counts answers: whole ones, and refusals at the limit of questions.
type answered struct{ full, busy int }

// asking are clients that ask costly questions until they are stopped.
type asking struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	counts answered
}

func startAsking(t *testing.T, s *server) *asking {
	t.Helper()
	a := &asking{}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(t.Context())
	for i := range askers {
		a.done.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				code, err := ask(ctx, "http://"+s.API+costly[n%len(costly)])
				a.mu.Lock()
				switch {
				case ctx.Err() != nil:
				case err == nil && code == http.StatusOK:
					a.counts.full++
				case err == nil && code == http.StatusTooManyRequests:
					a.counts.busy++
				default:
					t.Errorf("a question was answered with %d, %v", code, err)
				}
				a.mu.Unlock()
			}
		})
	}
	return a
}

// stop ends the clients and waits for them.
func (a *asking) stop() {
	a.cancel()
	a.done.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// ask returns the status of an answer that was read to its end.
func ask(ctx context.Context, from string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, fmt.Errorf("cannot read the answer: %w", err)
	}
	return res.StatusCode, nil
}
