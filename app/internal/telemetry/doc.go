// SPDX-License-Identifier: Apache-2.0

// Package telemetry is the observability of `lifeline serve`: metrics, health, profiles and the
// log. It imports no other room; they pass it functions to call.
package telemetry
