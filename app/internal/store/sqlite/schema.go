// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/kube-lifeline/lifeline/app/internal/database"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// schema describes the files of an archive. Times are Unix nanoseconds, and IDs the bytes of OTLP.
// The spans of a trace are packed together, and all other tables are derived from them. Objects are
// numbered within their trace, so a name is stored once and is deleted with its trace.
var schema = database.Schema{
	Name:          "archive",
	ApplicationID: 0x4c666c41, // "LflA"
	Migrations: []string{`
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('identity', (random() & 0x7fffffffffffffff) | 1);

CREATE TABLE traces (
  num              INTEGER PRIMARY KEY,
  id               BLOB NOT NULL UNIQUE,
  phase            INTEGER NOT NULL, -- 0 not known, 2 finished
  revision         INTEGER NOT NULL,
  as_of            INTEGER NOT NULL,
  start            INTEGER NOT NULL DEFAULT 0,
  duration         INTEGER NOT NULL DEFAULT 0,
  outcome          TEXT NOT NULL DEFAULT '',
  was              TEXT NOT NULL DEFAULT '', -- the outcome by the first claims, if it was another
  settled          INTEGER NOT NULL DEFAULT 0, -- the newest claim after these
  reason           TEXT NOT NULL DEFAULT '',
  category         TEXT NOT NULL DEFAULT '', -- of the reason
  name             TEXT NOT NULL DEFAULT '',
  api_group        TEXT NOT NULL DEFAULT '',
  api_version      TEXT NOT NULL DEFAULT '',
  kind             TEXT NOT NULL DEFAULT '',
  namespace        TEXT NOT NULL DEFAULT '',
  object_name      TEXT NOT NULL DEFAULT '',
  uid              TEXT NOT NULL DEFAULT '',
  verb             TEXT NOT NULL DEFAULT '',
  command          TEXT NOT NULL DEFAULT '',
  actor            TEXT NOT NULL DEFAULT '',
  user             TEXT NOT NULL DEFAULT '',
  heals            TEXT NOT NULL DEFAULT '',
  slowest          TEXT NOT NULL DEFAULT '',
  slowest_duration INTEGER NOT NULL DEFAULT 0,
  stuck            INTEGER NOT NULL DEFAULT 0,
  current          TEXT NOT NULL DEFAULT '',
  current_duration INTEGER NOT NULL DEFAULT 0,
  fight            TEXT NOT NULL DEFAULT '',
  edits            TEXT NOT NULL DEFAULT '', -- one line for each changed field
  work             BLOB,                     -- the kinds of work on the critical path; NULL without any
  spans            INTEGER NOT NULL DEFAULT 0,
  writes           INTEGER NOT NULL DEFAULT 0,
  pinned           INTEGER NOT NULL DEFAULT 0, -- never pruned
  digest           INTEGER NOT NULL DEFAULT 0  -- a hash of the fields that spans do not contain
) STRICT;
CREATE INDEX traces_start ON traces (start, id) WHERE phase > 0;
CREATE INDEX traces_outcome ON traces (outcome, start, id) WHERE phase > 0;
CREATE INDEX traces_category ON traces (category, start, id) WHERE phase > 0 AND category > '';
CREATE INDEX traces_end ON traces (start + duration, outcome) WHERE phase = 2 AND pinned = 0;
CREATE INDEX traces_unknown ON traces (as_of) WHERE phase = 0;

CREATE TABLE objects (
  trace       INTEGER NOT NULL,
  num         INTEGER NOT NULL,
  api_group   TEXT NOT NULL,
  api_version TEXT NOT NULL,
  kind        TEXT NOT NULL,
  namespace   TEXT NOT NULL,
  name        TEXT NOT NULL,
  uid         TEXT NOT NULL,
  PRIMARY KEY (trace, num)
) STRICT, WITHOUT ROWID;
CREATE INDEX objects_name ON objects (name);
CREATE INDEX objects_uid ON objects (uid);

-- the spans of traces: those of one batch in each row
CREATE TABLE parts (
  num      INTEGER PRIMARY KEY, -- that of the trace, and its place in the trace: see partBits
  amends   INTEGER NOT NULL,
  revision INTEGER NOT NULL,    -- 0: that of the trace
  digest   INTEGER NOT NULL,
  data     BLOB NOT NULL        -- a packed trace, compressed: see seal
) STRICT;

-- what many writes have in common
CREATE TABLE write_kinds (
  num         INTEGER PRIMARY KEY,
  verb        TEXT NOT NULL,
  part        TEXT NOT NULL,
  subresource TEXT NOT NULL,
  actor       TEXT NOT NULL,
  user        TEXT NOT NULL,
  source      TEXT NOT NULL,
  latest      INTEGER NOT NULL, -- no write of the kind is later
  UNIQUE (verb, part, subresource, actor, user, source)
) STRICT;

CREATE TABLE writes (
  trace        INTEGER NOT NULL,
  num          INTEGER NOT NULL, -- in the trace
  span         BLOB NOT NULL,
  number       INTEGER NOT NULL, -- among the writes of the span
  object       INTEGER NOT NULL,
  kind         INTEGER NOT NULL,
  rv           INTEGER NOT NULL,
  back         INTEGER,          -- the distance to the version before; NULL if unknown
  generation   INTEGER NOT NULL,
  audit_id     TEXT,
  start        INTEGER,          -- NULL for that of until
  until        INTEGER NOT NULL,
  changes      TEXT,             -- JSON of path, operation, from and to; NULL without any
  more_changes INTEGER NOT NULL,
  PRIMARY KEY (trace, num)
) STRICT, WITHOUT ROWID;
CREATE INDEX writes_until ON writes (until);

CREATE TABLE links (
  trace    INTEGER NOT NULL,
  span     BLOB NOT NULL,
  num      INTEGER NOT NULL,
  of_trace BLOB NOT NULL,
  of_span  BLOB NOT NULL,
  evidence TEXT NOT NULL,
  reason   TEXT NOT NULL,
  PRIMARY KEY (trace, span, num)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_of ON links (of_trace);

-- names of spans
CREATE TABLE operations (
  num     INTEGER PRIMARY KEY,
  service TEXT NOT NULL,
  name    TEXT NOT NULL,
  UNIQUE (service, name)
) STRICT;
-- the spans of one name in a trace
CREATE TABLE span_index (
  trace       INTEGER NOT NULL,
  operation   INTEGER NOT NULL,
  trace_start INTEGER NOT NULL, -- of the first span of the trace
  start       INTEGER NOT NULL, -- of the first span
  latest      INTEGER NOT NULL, -- start of the last span
  longest     INTEGER NOT NULL, -- 0 for open spans
  PRIMARY KEY (trace, operation)
) STRICT, WITHOUT ROWID;
CREATE INDEX span_index_operation ON span_index (operation, trace_start);
` + questions.Schema() + questions.SchemaOfSteps, `
ALTER TABLE traces ADD COLUMN earliest INTEGER NOT NULL DEFAULT 0; -- the earliest possible start; 0 if start is exact
`, `
ALTER TABLE traces ADD COLUMN sole TEXT; -- the namespace that decides for scopes; NULL: several, or not known
ALTER TABLE traces ADD COLUMN mentions INTEGER NOT NULL DEFAULT 1; -- texts mention objects that the trace does not have
CREATE INDEX traces_sole ON traces (sole, start, id) WHERE phase > 0;
CREATE INDEX traces_several ON traces (as_of, id) WHERE phase > 0 AND sole IS NULL;
`, `
ALTER TABLE traces ADD COLUMN aftermath TEXT; -- JSON of what happened to its Pods afterwards; NULL without anything
CREATE INDEX traces_aftermath ON traces (start, id) WHERE phase > 0 AND aftermath IS NOT NULL;
`, schemaOfRollups},
}
