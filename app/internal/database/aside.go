// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// damagedLabel is the label of damaged files, and timeForm the form of the time after a label.
	damagedLabel, timeForm = "damaged", "20060102T150405.000000000Z"
	// doneSuffix marks a file that MarkDone was called for.
	doneSuffix = ".done"
)

// setAside renames the database and its neighbour files, if they exist. Without any, it does
// nothing.
func setAside(path string, now time.Time, why error) (Opening, error) {
	return SetAside(path, damagedLabel, now, why)
}

// SetAside renames the closed database at path and its neighbour files, if they exist: a label and
// the time are added to the name. Without any, it does nothing.
func SetAside(path, label string, now time.Time, why error) (Opening, error) {
	to := path + "." + label + "-" + now.UTC().Format(timeForm)
	o := Opening{Why: why}
	for _, suffix := range []string{"-shm", "-wal", ""} {
		err := os.Rename(path+suffix, to+suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return Opening{}, fmt.Errorf("it cannot be used (%w), and cannot be set aside: %w", why, err)
		}
		if err == nil {
			o.SetAside = to + suffix
		}
	}
	return o, nil
}

// Damaged returns the paths of the damaged files of the database at path that were set aside, the
// oldest first, without those of MarkDone. It finds them by name, so that a kill loses none.
func Damaged(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	var out []string
	for _, e := range entries { // in order
		at, found := strings.CutPrefix(e.Name(), filepath.Base(path)+"."+damagedLabel+"-")
		if _, invalid := time.Parse(timeForm, at); found && invalid == nil {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out, err
}

// MarkDone renames a file of Damaged and its log, so that Damaged does not return it again. It
// returns the new path.
func MarkDone(aside string) (string, error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(aside+suffix, aside+doneSuffix+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
			return "", err
		}
	}
	return aside + doneSuffix, nil
}

// Reports counts the reports of damage in one open database. The first report leads to a check of
// the file. That check does not find all damage, such as wrong rows of an index. So the second
// report needs no check. The zero value has no reports.
//
// The reports stay until a success of Replace, and so does the loss of a failed one.
type Reports struct {
	one    bool
	damage error
	// failed is the Opening of a failed Replace that has set the file aside.
	failed Opening
}

// Add adds a report, which wraps store.ErrDamaged. A store.LostError begins a new count: its file is
// gone.
func (r *Reports) Add(why error) {
	var gone *store.LostError
	if r.damage = nil; errors.As(why, &gone) {
		r.one = false
		return
	}
	if r.one {
		r.damage = why
	}
	r.one = !r.one
}

// Damage returns the damage for Replace; nil means Open.
func (r *Reports) Damage() error { return r.damage }

// Opened takes the result of Replace with that damage. After a success it returns the Opening, with
// the file that a failed attempt before has set aside.
func (r *Reports) Opened(o Opening, err error) Opening {
	var failed *SetAsideError
	if errors.As(err, &failed) {
		o = failed.Opening
	}
	if r.failed.SetAside != "" {
		o.SetAside, o.Why = r.failed.SetAside, r.failed.Why // it has the data
	}
	switch {
	case err == nil:
		r.damage, r.failed = nil, Opening{}
	case failed != nil:
		r.damage, r.failed = nil, o
	}
	return o
}

// SetAsideError is an error of an opening that has set a damaged file aside.
type SetAsideError struct {
	Opening Opening
	Err     error
}

// Error implements error.
func (e *SetAsideError) Error() string {
	return fmt.Sprintf("%v; the damaged file before it was set aside as %s", e.Err, e.Opening.SetAside)
}

// Unwrap returns the error after that.
func (e *SetAsideError) Unwrap() error { return e.Err }

// Failed adds to an error of the opening that the file was set aside, if it was.
func (o Opening) Failed(err error) error {
	if o.SetAside == "" {
		return err
	}
	return &SetAsideError{Opening: o, Err: err}
}
