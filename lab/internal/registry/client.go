// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Client uses the registry at Address, a host:port on loopback.
type Client struct {
	Address string
}

// Ready returns nil once the registry answers.
func (c Client) Ready(ctx context.Context) error {
	_, err := c.Bandwidth(ctx)
	return err
}

// Image returns the full reference of an image: "app:slow" becomes
// "127.0.0.1:5000/app:slow".
func (c Client) Image(nameAndTag string) string { return c.Address + "/" + nameAndTag }

// Push stores img under a name and tag such as "app:slow", and replaces an earlier one. It returns
// the full reference, for use in a Pod.
func (c Client) Push(ctx context.Context, nameAndTag string, img v1.Image) (string, error) {
	full := c.Image(nameAndTag)
	ref, err := name.NewTag(full, name.Insecure)
	if err != nil {
		return "", fmt.Errorf("cannot push image %s: %w", full, err)
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	if err := remote.Write(ref, img, remote.WithContext(ctx), remote.WithTransport(transport)); err != nil {
		return "", fmt.Errorf("cannot push image %s: %w", full, err)
	}
	return full, nil
}

// SetBandwidth limits all pulls together, those under way included, to that
// many bytes a second; zero lifts the limit.
func (c Client) SetBandwidth(ctx context.Context, bytesPerSecond int64) error {
	_, err := c.bandwidth(ctx, http.MethodPut, strconv.FormatInt(bytesPerSecond, 10))
	return err
}

// Bandwidth returns the limit in bytes a second; zero means none.
func (c Client) Bandwidth(ctx context.Context) (int64, error) {
	text, err := c.bandwidth(ctx, http.MethodGet, "")
	if err != nil {
		return 0, err
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the bandwidth of registry %s: %w", c.Address, err)
	}
	return limit, nil
}

func (c Client) bandwidth(ctx context.Context, method, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.Address+bandwidthPath, strings.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("cannot reach registry %s: %w", c.Address, err)
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("cannot reach registry %s: %w", c.Address, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	text := strings.TrimSpace(string(answer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err != nil {
		return "", fmt.Errorf("cannot use the bandwidth of registry %s: %w", c.Address, err)
	}
	return text, nil
}

// newTransport returns one without proxy. Its connections end with the call
// they are for: a caller in a test must not be left with goroutines.
func newTransport() *http.Transport { return &http.Transport{} }
