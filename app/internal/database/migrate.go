// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// oldestShift separates two numbers in SQLite's user_version: the version of the schema, and above it the oldest
// version whose programs may use the file; 0 means the same as the version.
const oldestShift = 16

// mark returns the user_version of a file with this version of the schema.
func (s *Schema) mark(version int) int {
	if version < len(s.Migrations) || s.Oldest >= version {
		return version
	}
	return s.Oldest<<oldestShift | version
}

// version returns the version of a database: 0 for an empty one. It refuses unknown versions, newer ones that do not
// only add to a supported one, and files of other programs.
func (s *Schema) version(ctx context.Context, conn *sql.Conn) (int, error) {
	var marked, app, tables int
	for pragma, to := range map[string]*int{
		"PRAGMA user_version": &marked, "PRAGMA application_id": &app, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return 0, err
		}
	}
	version, oldest := marked&(1<<oldestShift-1), marked>>oldestShift
	switch newest := len(s.Migrations); {
	case tables > 0 && (app != s.ApplicationID || version < 1):
		return version, store.ErrForeign
	case version > newest && (oldest == 0 || oldest > newest):
		return version, fmt.Errorf("%w: its schema is version %d, this program supports %d",
			store.ErrNewer, version, newest)
	}
	return version, nil
}

// migrate brings the writer's database to the newest version of its schema. It returns the previous
// version.
func (s *Schema) migrate(ctx context.Context, conn *sql.Conn) (from int, err error) {
	if from, err = s.version(ctx, conn); err != nil {
		return from, err
	}
	for version := from; version < len(s.Migrations); version++ {
		step := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
			s.Migrations[version], s.ApplicationID, s.mark(version+1))
		if _, err := conn.ExecContext(ctx, step); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return from, fmt.Errorf("cannot bring its schema from version %d to %d: %w", version, version+1, err)
		}
	}
	return from, nil
}
