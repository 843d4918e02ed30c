// SPDX-License-Identifier: Apache-2.0

// Package watch reads Kubernetes objects and Events by list and watch, and emits observations.
// Package normalize converts each object.
//
// It discovers the kinds, reads only the requested resources and keeps no object. It survives lost
// connections, expired resourceVersions and restarts of the API server. It neither invents a change
// nor loses one that the API still shows. Package lifecycle determines the causes.
//
// A Watcher reports the position of each of its streams (Config.Reached). Another Watcher, in the
// same process or a later one, resumes from there (Config.Resume). A change stored before its watch
// was opened is Listed and Late, because its observation time is far from its real time. The
// boundary is a resourceVersion requested from the API server, not a time.
//
// # States
//
// Watch and Follow make plans; the explorer adds plans for the effects of changes. The roster runs one
// stream for each plan. A stream has three independent states, each with its own table of transitions:
//
//	progress  the next request: a list at a past version, a list of the present, a comparison with
//	          the known state, or a watch from the reached version
//	lag       its changes are live, or begin with changes stored before the watch was opened
//	contact   the API server was lost, or has refused the credentials
//
// # Faults
//
// Each stream recovers separately; Stats counts its requests and errors.
//
//	event                           behavior of the stream
//	------------------------------  ------------------------------------------------------------
//	watch ends, connection breaks   reopens it at the same version; after 2 s without a sign of
//	                                life, changes stored before the reopening are Listed.
//	receiver takes longer than 2 s  changes stored by then are Listed; nothing is dropped.
//	connection refused, 5xx         retries after 50 ms, then with growing delays up to 5 s (7.5
//	                                with jitter); the first successful stream wakes the others.
//	429, or 503 with Retry-After    obeys Retry-After, but at most 30 s.
//	no response for 65 s            cancels the request, and retries as above.
//	silence while connected         nothing until client-go's HTTP/2 ping ends the connection (45 s);
//	                                with Config.Probes, Stats.Heard shows it after some seconds.
//	410 Gone                        lists, and emits the differences from the known state as
//	                                Listed; a list at a past version becomes one of the present.
//	storage older than the state    as 410 Gone: the storage was restored from a backup, and a
//	already observed                watch from a future version would be silent.
//	401, certificate not accepted   warns once, rereads the credentials (Config.Reload, or the
//	                                files of the connection) at most every 5 s; new credentials
//	                                replace the connection of all streams at once.
//	Reload returns another address  refuses it: it may be another cluster.
//	403, 404, within 30 s of any    retries as above: a starting server does not have all rights
//	of the above                    and kinds loaded.
//	403, 404                        warns once, counts as synced, retries every 3 minutes;
//	                                Events fall back to the core API, a kind to another offered
//	                                version.
//	protobuf that this release     requests JSON from now on; see package apiproto.
//	cannot read
//	kind removed                    emits the removal of its objects, and ends.
//
// Between two attempts, nothing is lost that the API server still shows. A change during an outage
// that the API server has discarded since is never observed.
package watch
