// SPDX-License-Identifier: Apache-2.0

// Package registry serves the lab's images on loopback, at a bandwidth that a
// test chooses and may change while a pull is under way.
//
// The registry is a process of its own, because it has to outlive a caller
// that leaves its cluster running. It needs no binary of its own: importing
// this package lets any program start as a registry (see Spec), a test binary
// and the lab command alike. A Client talks to it over HTTP.
//
// The registry protocol itself is go-containerregistry's. What the images hold
// is the business of the package testimage.
package registry
