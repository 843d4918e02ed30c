// SPDX-License-Identifier: Apache-2.0

// Package audit converts the API server's audit log to observations of writes: the user, the exact
// time, and the response. Events arrive as batches from the API server's audit webhook (ServeHTTP)
// or from a log file (Follow). Package lifecycle matches each write to a stored version and to its
// effects.
//
// An answered request becomes an observation if it may have stored something or was refused. Stats
// counts the skipped events by reason. Bodies are optional: they are used if the audit level has
// them. From a body only names, versions and owners are read; bodies of Secrets are ignored. No
// text of a body is kept, and buffers are wiped after use.
//
// No loss is silent. A batch that cannot be accepted is refused with a status that makes the API
// server send it again; Follow waits instead. A batch that arrives twice is passed on twice: the
// audit ID identifies each event.
package audit
