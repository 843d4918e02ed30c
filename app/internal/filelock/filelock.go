// SPDX-License-Identifier: Apache-2.0

// Package filelock locks a file for one process at a time. A lock ends when the
// file is closed, and with the process, however it ends.
package filelock

import "errors"

// ErrLocked is returned for a file that another process has locked.
var ErrLocked = errors.New("locked")
