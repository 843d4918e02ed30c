// SPDX-License-Identifier: Apache-2.0

package main

import "errors"

// dryRun is the value of --dry-run, as in kubectl.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunServer dryRun = "server"
)

// String implements pflag.Value.
func (d *dryRun) String() string { return string(*d) }

// Type implements pflag.Value.
func (*dryRun) Type() string { return "none|server" }

// Set implements pflag.Value. It also takes booleans.
func (d *dryRun) Set(text string) error {
	switch text {
	case "none", "false":
		*d = dryRunNone
	case "server", "true":
		*d = dryRunServer
	default:
		return errors.New("it must be none or server; lifeline webhook print shows the configuration")
	}
	return nil
}
