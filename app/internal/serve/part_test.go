// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noted is a part that notes its start and its stop.
type noted struct {
	name             string
	notes            *[]string
	fails, stopFails error
}

func (n *noted) Start(context.Context) error {
	*n.notes = append(*n.notes, "start "+n.name)
	return n.fails
}

func (n *noted) Stop() error {
	*n.notes = append(*n.notes, "stop "+n.name)
	return n.stopFails
}

// TestParts: parts stop in reverse order. A part that fails to start stops the earlier ones only.
func TestParts(t *testing.T) {
	bad, worse := errors.New("bad"), errors.New("worse")
	for name, tc := range map[string]struct {
		reason string
		fails  error // of the second part
		want   []string
	}{
		"all start": {"", nil, []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}},
		"one fails": {"a part that has not started needs no stop", bad, []string{"start a", "start b", "stop a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			part := func(name string) *noted { return &noted{name: name, notes: &notes, stopFails: worse} }
			a, b, c := part("a"), part("b"), part("c")
			b.fails = tc.fails
			var up parts
			if err := up.start(t.Context(), a, b, c); !errors.Is(err, tc.fails) {
				t.Errorf("start: %v", err)
			}
			if err := up.stop(); !errors.Is(err, worse) {
				t.Errorf("stop: %v, want the errors of the parts", err)
			}
			if diff := cmp.Diff(tc.want, notes); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if err := up.stop(); err != nil || len(notes) != len(tc.want) {
				t.Errorf("a second stop: %v, %v", err, notes)
			}
		})
	}
}

// TestTask: a task outlives the context of its start, and reports an error unless it is stopped.
func TestTask(t *testing.T) {
	bad := errors.New("bad")
	for name, tc := range map[string]struct {
		reason string
		early  bool
		fails  bool
	}{
		"stopped": {"the error is one of its end", false, false},
		"failed":  {"the server must end", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			run := &task{name: "some", fail: func(err error) { failed <- err }, run: func(ctx context.Context) error {
				if !tc.early {
					<-ctx.Done()
				}
				return bad
			}}
			ctx, cancel := context.WithCancel(t.Context())
			must(t, run.Start(ctx))
			cancel()
			if tc.fails {
				if err := <-failed; !errors.Is(err, bad) || err.Error() != "some: bad" {
					t.Errorf("%s: got %v", tc.reason, err)
				}
			}
			must(t, run.Stop())
			if len(failed) > 0 {
				t.Errorf("%s: got %v", tc.reason, <-failed)
			}
		})
	}
}
