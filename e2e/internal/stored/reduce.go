// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"
)

// Reduce copies an audit log to another file, as the API server writes it at level Metadata: the same
// events without the bodies of requests and answers. It goes on until the returned function is called.
func Reduce(t testing.TB, from, to string) func() {
	t.Helper()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var copying sync.WaitGroup
	copying.Go(func() {
		defer in.Close()
		defer out.Close()
		if err := copyReduced(ctx, out, bufio.NewReader(in)); err != nil {
			t.Errorf("cannot reduce the audit log: %v", err)
		}
	})
	return func() { stop(); copying.Wait() }
}

func copyReduced(ctx context.Context, out io.Writer, in *bufio.Reader) error {
	var partial []byte
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := in.ReadBytes('\n')
		partial = append(partial, data...)
		if errors.Is(err, io.EOF) {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				continue
			}
		}
		if err != nil {
			return err
		}
		var event map[string]json.RawMessage
		if err := json.Unmarshal(partial, &event); err != nil {
			return err
		}
		partial = nil
		delete(event, "requestObject")
		delete(event, "responseObject")
		event["level"] = json.RawMessage(`"Metadata"`)
		line, err := json.Marshal(event)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}
