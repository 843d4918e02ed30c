// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "lifeline")
	if err == nil {
		err = remember(context.Background(), filepath.Join(dir, "lifeline.db"))
	}
	fmt.Println(errors.Join(err, os.RemoveAll(dir)))
	// Output:
	// 12:00 kubectl kubectl apply -f web.yaml converged 4.21s pull image nginx:1.27
	// <nil>
}

// remember stores a trace and lists the converged ones.
func remember(ctx context.Context, path string) error {
	s, err := sqlite.Open(ctx, store.Config{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	if found := s.Opening(); found.SetAside != "" {
		fmt.Printf("the database was damaged (%v) and is now %s\n", found.Why, found.SetAside)
	}
	stats, err := s.Stats(ctx, store.Scope{})
	if err != nil {
		return err
	}
	if err := s.Write(ctx, &store.Batch{
		Revision: stats.Revision + 1,
		AsOf:     spantest.Epoch,
		Finished: []*span.Trace{spantest.Apply()},
	}); err != nil {
		return err
	}
	page, err := s.List(ctx, store.Query{Outcomes: []span.Outcome{span.Converged}})
	if err != nil {
		return err
	}
	for _, t := range page.Traces {
		fmt.Println(t.Start.Format("15:04"), t.Actor, t.Command, t.Outcome, t.Duration, t.Slowest)
	}
	return nil
}
