// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/kube-lifeline/lifeline/app/internal/database"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// schema describes the files of an archive.
var schema = database.Schema{Name: "archive", ApplicationID: applicationID, Migrations: migrations}

// formerVersion is the last version with state and open traces.
const formerVersion = 5

// derivedVersion is the first version with lifecycles and facts.
const derivedVersion = 7

// applicationID marks our databases: "Lfln".
const applicationID = 0x4c666c6e

// migrations lead from each version of the schema to the next. A released one is never edited; each
// change is a new entry.
//
// Times are Unix nanoseconds, and IDs the bytes of OTLP. Filtered and sorted fields have columns.
// The rest of a span is an OTLP Span in data. The tables of lifecycles, phases and names are derived from
// the spans: Open fills them for the traces of earlier versions. Objects are numbered within their trace, so a name is
// stored once and is deleted with its trace.
var migrations = []string{`
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE state (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

CREATE TABLE traces (
  num              INTEGER PRIMARY KEY,
  id               BLOB NOT NULL UNIQUE,
  phase            INTEGER NOT NULL, -- 0 not known or withdrawn, 1 open, 2 finished
  revision         INTEGER NOT NULL,
  as_of            INTEGER NOT NULL,
  start            INTEGER NOT NULL DEFAULT 0,
  duration         INTEGER NOT NULL DEFAULT 0,
  outcome          TEXT NOT NULL DEFAULT '',
  reason           TEXT NOT NULL DEFAULT '',
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
  spans            INTEGER NOT NULL DEFAULT 0,
  writes           INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX traces_start ON traces (start, id) WHERE phase > 0;
CREATE INDEX traces_outcome ON traces (outcome, start, id) WHERE phase > 0;
CREATE INDEX traces_open ON traces (start, id) WHERE phase = 1;
CREATE INDEX traces_end ON traces (start + duration) WHERE phase = 2;
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

CREATE TABLE spans (
  trace        INTEGER NOT NULL,
  id           BLOB NOT NULL,
  amends       INTEGER NOT NULL,
  revision     INTEGER NOT NULL, -- 0: that of the trace
  seq          INTEGER NOT NULL,
  digest       INTEGER NOT NULL, -- of all that follows
  parent       BLOB,
  remote       INTEGER NOT NULL,
  name         TEXT NOT NULL,
  service      TEXT NOT NULL,
  object       INTEGER NOT NULL,
  start        INTEGER,
  start_source TEXT NOT NULL,
  until        INTEGER,          -- NULL while open
  until_source TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  evidence     TEXT NOT NULL,
  status       INTEGER NOT NULL,
  message      TEXT NOT NULL,
  data         BLOB NOT NULL,    -- OTLP: attributes, events, links
  PRIMARY KEY (trace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE writes (
  trace       INTEGER NOT NULL,
  span        BLOB NOT NULL,
  num         INTEGER NOT NULL,
  object      INTEGER NOT NULL,
  verb        TEXT NOT NULL,
  part        TEXT NOT NULL,
  subresource TEXT NOT NULL,
  rv          INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  user        TEXT NOT NULL,
  start       INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  source      TEXT NOT NULL,
  PRIMARY KEY (trace, span, num)
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
`, `
-- who made the spans of other components: an OTLP ResourceSpans without spans,
-- numbered within the trace
CREATE TABLE origins (
  trace INTEGER NOT NULL,
  num   INTEGER NOT NULL,
  data  BLOB NOT NULL,
  PRIMARY KEY (trace, num)
) STRICT, WITHOUT ROWID;
ALTER TABLE spans ADD COLUMN origin INTEGER NOT NULL DEFAULT -1;
`, `
-- a span of an open trace waits after an error
ALTER TABLE traces ADD COLUMN stuck INTEGER NOT NULL DEFAULT 0;
-- the work at the end of the critical path of an open trace
ALTER TABLE traces ADD COLUMN current TEXT NOT NULL DEFAULT '';
ALTER TABLE traces ADD COLUMN current_duration INTEGER NOT NULL DEFAULT 0;
`, `
-- the fight in which the change is
ALTER TABLE traces ADD COLUMN fight TEXT NOT NULL DEFAULT '';
`, `
-- what the change changed, one line for each field; and the category of the reason
ALTER TABLE traces ADD COLUMN edits TEXT NOT NULL DEFAULT '';
ALTER TABLE traces ADD COLUMN category TEXT NOT NULL DEFAULT '';
CREATE INDEX traces_category ON traces (category, start, id) WHERE phase > 0 AND category > '';
`, `
-- unused space may hold deleted data, since earlier versions did not overwrite them
INSERT INTO meta (name, value)
  SELECT 'unclean', 1 WHERE EXISTS (SELECT 1 FROM traces) OR EXISTS (SELECT 1 FROM state);
-- State and open traces are in the journal now. Amendments of open traces stay.
DROP TABLE state;
DELETE FROM meta WHERE name = 'state';
DELETE FROM spans WHERE amends = 0 AND trace IN (SELECT num FROM traces WHERE phase = 1);
DELETE FROM writes WHERE trace IN (SELECT num FROM traces WHERE phase = 1)
  AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = writes.trace AND s.id = writes.span);
DELETE FROM links WHERE trace IN (SELECT num FROM traces WHERE phase = 1)
  AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = links.trace AND s.id = links.span);
DELETE FROM objects WHERE trace IN (SELECT num FROM traces WHERE phase = 1)
  AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = objects.trace AND s.object = objects.num)
  AND NOT EXISTS (SELECT 1 FROM writes w WHERE w.trace = objects.trace AND w.object = objects.num);
DELETE FROM origins WHERE trace IN (SELECT num FROM traces WHERE phase = 1)
  AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = origins.trace AND s.origin = origins.num);
DELETE FROM traces WHERE phase < 2 AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = traces.num);
UPDATE traces SET phase = 0, revision = 0,
  spans = (SELECT count(*) FROM spans s WHERE s.trace = traces.num),
  writes = (SELECT count(*) FROM writes w WHERE w.trace = traces.num) WHERE phase = 1;
DROP INDEX traces_open;
-- a pinned trace is never pruned
ALTER TABLE traces ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
-- a hash of the fields that spans do not contain; 0 if an earlier version wrote the trace
ALTER TABLE traces ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
DROP INDEX traces_end;
CREATE INDEX traces_end ON traces (start + duration, outcome) WHERE phase = 2 AND pinned = 0;
`, questions.Schema() + `
-- the steps of lifecycles, in order
CREATE TABLE phases (
  lifecycle    INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  name         TEXT NOT NULL, -- as in questions
  container    TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  start        INTEGER NOT NULL,
  start_source TEXT NOT NULL,
  until        INTEGER,       -- NULL while open
  until_source TEXT NOT NULL,
  outcome      TEXT NOT NULL, -- failed, or empty
  PRIMARY KEY (lifecycle, seq)
) STRICT, WITHOUT ROWID;

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

-- data about the object for questions, in the form of span.PackFacts
ALTER TABLE spans ADD COLUMN facts BLOB;
-- whether the tables of lifecycles and the index of spans have the trace: 1, 0 for a trace of an
-- earlier version, -1 if it cannot be read
ALTER TABLE traces ADD COLUMN derived INTEGER NOT NULL DEFAULT 0;
CREATE INDEX traces_underived ON traces (num) WHERE derived = 0 AND phase = 2;
`, `
-- what a write changed: its JSON has path, operation, from and to; NULL without any, and for the writes
-- of earlier versions
ALTER TABLE writes ADD COLUMN based_on INTEGER NOT NULL DEFAULT 0;
ALTER TABLE writes ADD COLUMN audit_id TEXT NOT NULL DEFAULT '';
ALTER TABLE writes ADD COLUMN changes TEXT;
ALTER TABLE writes ADD COLUMN more_changes INTEGER NOT NULL DEFAULT 0;
-- the traces of earlier versions get their IDs of the audit log in the background
UPDATE traces SET derived = 0 WHERE derived = 1;
`, `
-- the kinds of work on the critical path; NULL without any, and for the traces of earlier versions
ALTER TABLE traces ADD COLUMN work BLOB;
`, `
-- the spans of earlier versions have the values, apart from the runtime: they are read in the background
UPDATE traces SET derived = 0 WHERE derived = 1 AND phase = 2;
`}
