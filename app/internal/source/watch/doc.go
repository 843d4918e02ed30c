// SPDX-License-Identifier: Apache-2.0

// Package watch turns what the Kubernetes API shows (objects and Events, by
// list and watch) into observations.
//
// It finds out which kinds there are, reads no more than it was asked for, keeps
// no object, and survives lost connections, expired resourceVersions and
// restarts of the API server without inventing a change or losing one that the
// API still shows. What caused what is for package lifecycle to say.
package watch
