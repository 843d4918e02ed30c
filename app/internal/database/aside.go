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
type Reports struct {
	one    bool
	damage error
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

// Take returns the damage for Replace, once; nil means Open.
func (r *Reports) Take() error {
	out := r.damage
	r.damage = nil
	return out
}
