// SPDX-License-Identifier: Apache-2.0

// Package audit turns what the API server's audit log tells into observations
// of writes: who wrote what, when exactly, and with what answer. The log comes
// as batches of the API server's audit webhook (ServeHTTP) or as a file that it
// writes (Follow). Which stored write each is, and what caused it, is for
// package lifecycle to say.
//
// Only requests that may have stored something, or were refused, become
// observations, once they have been answered; Stats counts what was passed over
// and why. Bodies are used where the audit level gives them, and never needed.
// Of a body only names, versions and owners are read. Those of Secrets are not
// looked at, and no text of a body is kept: buffers are wiped when they have
// been read.
//
// Nothing is ever lost silently. What the receiver does not take is refused
// with a status that makes the API server send it again, or waited with. What
// was sent twice is handed on twice: an event names itself by its audit ID.
package audit
