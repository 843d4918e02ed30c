// SPDX-License-Identifier: Apache-2.0

// Package watch turns what the Kubernetes API shows (objects and Events, by
// list and watch) into observations.
//
// It finds out which kinds there are, reads no more than it was asked for, keeps
// no object, and survives lost connections, expired resourceVersions and
// restarts of the API server without inventing a change or losing one that the
// API still shows. What caused what is for package lifecycle to say.
//
// A Watcher tells how far each of its streams has come (Config.Reached), and
// another goes on from there (Config.Resume), in the same process or a later
// one. What a watch brings that had been stored before it was opened is Listed
// and Late: when it was seen says little of when it happened. The boundary is a
// resourceVersion that the API server is asked for, not a time.
//
// # Faults
//
// Each stream goes on by itself; Stats counts what befell it.
//
//	what happens                    what a stream does
//	------------------------------  ------------------------------------------------------------
//	watch ends, connection breaks   opens it again where it was; after 2 s without a sign of
//	                                life, what was stored by then is Listed
//	receiver takes longer than 2 s  what was stored by then is Listed; nothing is dropped
//	connection refused, 5xx         tries again after 50 ms, then ever longer, to 5 s (7.5 with
//	                                jitter); the first stream that comes through wakes the others
//	429, or 503 with Retry-After    waits as long as it is told to, but not longer than 30 s
//	no answer for 65 s              gives the request up, and tries again as above
//	silence while connected         nothing until client-go's HTTP/2 ping ends the connection (45 s);
//	                                with Config.Probes, Stats.Heard shows it after some seconds
//	410 Gone                        lists, and hands on what differs from what is known, as
//	                                Listed; a list of the past becomes one of the present
//	storage older than what was     as 410 Gone: it was restored from a backup, and a watch from
//	seen                            a version to come would be silent
//	401, certificate not accepted   says so once, reads the credentials anew (Config.Reload, or the
//	                                files that the connection names), every 5 s at most; new ones
//	                                replace the connection of all streams at once
//	Reload names another address    is refused: it may be another cluster
//	403, 404, within 30 s of any    tries again as above: a server that starts does not know
//	of the above                    all rights and kinds yet
//	403, 404                        says so once, counts as synced, tries again every 3 minutes;
//	                                of Events, it turns to the core API; of a kind, to another
//	                                version that is offered
//	kind removed                    hands on that its objects are gone, and ends
//
// Between two tries nothing is lost that the API server still shows. What came
// and went while it could not be asked, and was forgotten there, never was.
package watch
