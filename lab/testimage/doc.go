// SPDX-License-Identifier: Apache-2.0

// Package testimage builds the container images of the lab's Pods. They need no other image and no
// network.
//
// An image holds one static binary (the program in the folder app), in one layer that all images share. A second layer
// of random bytes is optional; it makes a pull as long as a test needs. The same binary is the sandbox ("pause") image.
// Spec.Program puts another binary in its place. What a container of the test program does is up to its environment:
//
//	PORT         listen there for HTTP: /ready for readiness probes, any other
//	             path answers the host name. Unset (the pause image): no server.
//	START_DELAY  wait before listening
//	READY_DELAY  from then on, how long /ready answers 503
//	LIFETIME     end after that time, counted from the start; unset: live on
//	EXIT_CODE    the exit code when LIFETIME is over, 0 to 255
//	BUSY         use a fifth of one CPU for that time, counted from the start
//	MEMORY       take that many MiB at the start, and keep them
//	TERM_DELAY   time from SIGTERM to the end, with code 0
//
// "/app ready" in a running container is an exec probe: it asks /ready and ends
// with 0 or 1.
//
// Times are Go durations ("250ms") or whole seconds ("2"). An environment that
// cannot be understood ends the container with code 64 and the reason in its
// log.
//
// Serving the images is left to the lab's registry.
package testimage
