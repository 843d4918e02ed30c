// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/filelock"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// lockSuffix is the suffix of the lock file beside a database. A held lock marks the database as in
// use; the file names the process.
const lockSuffix = ".lock"

// lock takes the lock beside the database at path. A Close of the result releases it. The file
// stays: its removal would admit two processes.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		if errors.Is(err, filelock.ErrLocked) {
			err = fmt.Errorf("%w%s", store.ErrInUse, holder(f))
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// holder returns the process that f names.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(text))
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil {
		return ""
	}
	return " by process " + pid
}
