// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// End ends the processes that are recorded in dir, the last started first: SIGTERM, and SIGKILL for
// the rest after the grace period or the end of ctx. It is for processes of another, perhaps
// crashed, caller. It skips a process that has ended, or whose pid now belongs to another process.
func End(ctx context.Context, dir string, grace time.Duration) error {
	entries, err := Recorded(dir)
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	var errs []error
	for _, e := range entries {
		if err := e.End(ctx, grace); err != nil {
			errs = append(errs, fmt.Errorf("cannot end %s (pid %d): %w", e.Name, e.Pid, err))
		}
	}
	return errors.Join(errs...)
}

// End ends the recorded process and waits for its end.
func (e Entry) End(ctx context.Context, grace time.Duration) error {
	// The descriptor pins the process: from here on the pid cannot be reused
	// under our hands.
	fd, err := unix.PidfdOpen(e.Pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !e.Alive() {
		return nil
	}
	if err := send(fd, unix.SIGTERM); err != nil {
		return err
	}
	if waitGone(ctx, fd, grace) {
		return nil
	}
	if err := send(fd, unix.SIGKILL); err != nil {
		return err
	}
	if !waitGone(context.WithoutCancel(ctx), fd, defaultGrace) {
		return errors.New("it survived SIGKILL")
	}
	return nil
}

func send(fd int, sig unix.Signal) error {
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// waitGone reports whether the process ended within the limit.
func waitGone(ctx context.Context, fd int, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
		if n, err := unix.Poll(fds, 100); err == nil && n > 0 {
			return true
		}
	}
	return false
}
