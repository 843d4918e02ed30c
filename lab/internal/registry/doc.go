// SPDX-License-Identifier: Apache-2.0

// Package registry serves the lab's images on loopback, at a bandwidth that a
// test chooses, and may change during a pull.
//
// The registry runs as a separate process, so that it outlives a caller that
// leaves its cluster running. It needs no separate binary: any program that
// imports this package can start as a registry (see Spec). A Client controls it
// over HTTP.
//
// Package go-containerregistry implements the registry protocol, and package
// testimage makes the images.
package registry
