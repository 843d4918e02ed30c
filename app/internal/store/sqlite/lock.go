// SPDX-License-Identifier: Apache-2.0

package sqlite

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

// lockSuffix makes the name of the file beside a database whose lock says that
// the database is in use, and by which process.
const lockSuffix = ".lock"

// lock takes the lock beside the database at path. Closing what it returns
// gives it free; the file stays, since removing it would let two in.
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

// holder names the process that has written itself into f.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(text))
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil {
		return ""
	}
	return " by process " + pid
}
