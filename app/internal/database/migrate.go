// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// version returns the version of a database: 0 for an empty one. It refuses newer and unknown
// versions, and files of other programs.
func (s *Schema) version(ctx context.Context, conn *sql.Conn) (int, error) {
	var version, app, tables int
	for pragma, to := range map[string]*int{
		"PRAGMA user_version": &version, "PRAGMA application_id": &app, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return 0, err
		}
	}
	switch {
	case tables > 0 && (app != s.ApplicationID || version < 1):
		return version, store.ErrForeign
	case version > len(s.Migrations):
		return version, fmt.Errorf("%w: its schema is version %d, this program supports %d",
			store.ErrNewer, version, len(s.Migrations))
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
			s.Migrations[version], s.ApplicationID, version+1)
		if _, err := conn.ExecContext(ctx, step); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return from, fmt.Errorf("cannot bring its schema from version %d to %d: %w", version, version+1, err)
		}
	}
	return from, nil
}
