// SPDX-License-Identifier: Apache-2.0

// Package telemetry is how `lifeline serve` tells of itself: metrics, health,
// profiles and the log. It knows no other room; they are told what to call.
package telemetry
