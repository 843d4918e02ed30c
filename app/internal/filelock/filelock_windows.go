// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f, or returns ErrLocked at once. The locked byte lies behind the
// content, which stays readable.
func Try(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
