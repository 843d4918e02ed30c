// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Ready is `lifeline ready`, for `helm test`: it waits until a server is ready.
type Ready struct {
	// URL is that of the server's /readyz.
	URL string
	// Within is how long it may take, and Every the pause between two requests.
	Within, Every time.Duration
	// Out receives the server's answer.
	Out io.Writer
}

// longest bounds an answer.
const longest = 1 << 16

// Run asks until the server is ready. The code is 0, or 1 with an error.
func (c *Ready) Run(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		text, err := c.ask(ctx)
		if err == nil {
			fmt.Fprint(c.Out, text)
			return 0, nil
		}
		select {
		case <-ctx.Done():
			return 1, fmt.Errorf("the server is not ready: %w", err)
		case <-tick.C:
		}
	}
}

// ask returns the answer of a ready server.
func (c *Ready) ask(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), nil
}
