// SPDX-License-Identifier: Apache-2.0

package sqlite

// Schema creates the tables of lifecycles, without the columns of SchemaOfNodes. The table traces is the
// archive's: num, id and heals are used. A released schema is never edited; see the migrations of
// store/sqlite.
//
// Times are Unix nanoseconds, and lengths nanoseconds. An empty text means none. The index by kind
// answers the most frequent questions without the rows: the newest of a kind with a slow start. Images
// and labels are only searched by lifecycle.
const Schema = `
CREATE TABLE lifecycles (
  id              INTEGER PRIMARY KEY,
  trace           INTEGER NOT NULL,
  span            BLOB NOT NULL,
  api_group       TEXT NOT NULL DEFAULT '',
  kind            TEXT NOT NULL DEFAULT '',
  namespace       TEXT NOT NULL DEFAULT '',
  name            TEXT NOT NULL DEFAULT '',
  uid             TEXT NOT NULL DEFAULT '',
  workload        TEXT NOT NULL DEFAULT '',
  verb            TEXT NOT NULL DEFAULT '',
  actor           TEXT NOT NULL DEFAULT '',
  user            TEXT NOT NULL DEFAULT '',
  outcome         TEXT NOT NULL DEFAULT '',
  reason          TEXT NOT NULL DEFAULT '',
  start           INTEGER NOT NULL,
  duration        INTEGER NOT NULL,
  phase_startup   INTEGER,
  phase_schedule  INTEGER,
  phase_sandbox   INTEGER,
  phase_pull      INTEGER,
  phase_init      INTEGER,
  phase_start     INTEGER,
  phase_run       INTEGER,
  phase_backoff   INTEGER,
  phase_readiness INTEGER,
  phase_publish   INTEGER,
  phase_terminate INTEGER,
  phase_condition INTEGER,
  phase_retry     INTEGER,
  phase_address   INTEGER,
  volumes         INTEGER, -- NULL without a Pod's spec
  node            TEXT NOT NULL DEFAULT '',
  zone            TEXT NOT NULL DEFAULT '',
  UNIQUE (trace, span)
) STRICT;
CREATE INDEX lifecycles_kind ON lifecycles (kind, start DESC, phase_startup, volumes);
CREATE INDEX lifecycles_start ON lifecycles (start);
CREATE INDEX lifecycles_namespace ON lifecycles (namespace, start);
CREATE INDEX lifecycles_name ON lifecycles (name);
CREATE INDEX lifecycles_uid ON lifecycles (uid);

CREATE TABLE lifecycle_images (
  lifecycle INTEGER NOT NULL,
  image     TEXT NOT NULL,
  PRIMARY KEY (lifecycle, image)
) STRICT, WITHOUT ROWID;

CREATE TABLE lifecycle_labels (
  lifecycle INTEGER NOT NULL,
  label     TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (lifecycle, label)
) STRICT, WITHOUT ROWID;
`

// SchemaOfNodes adds the columns about the Nodes of Pods to the tables of Schema.
const SchemaOfNodes = `
ALTER TABLE lifecycles ADD COLUMN region TEXT NOT NULL DEFAULT '';
ALTER TABLE lifecycles ADD COLUMN instance_type TEXT NOT NULL DEFAULT '';
ALTER TABLE lifecycles ADD COLUMN runtime TEXT NOT NULL DEFAULT '';
`
