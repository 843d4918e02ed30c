// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// parseErrors are the prefixes of Go's parse errors, with the expected value.
var parseErrors = []struct{ prefix, want string }{
	{"strconv.ParseBool", "true or false"},
	{"strconv.ParseInt", "a whole number"},
	{"strconv.ParseUint", "a whole number from 0 to 65535"}, // all unsigned flags are ports
	{"time: ", "a duration with its unit, such as 90s or 5m"},
}

// invalidFlag splits an error of pflag into value, flag and reason.
var invalidFlag = regexp.MustCompile(`^invalid argument "(.*)" for "(.*)" flag: (.*)$`)

// flagError names the value that a flag expects, in place of Go's parse error.
func flagError(_ *cobra.Command, err error) error {
	m := invalidFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	for _, e := range parseErrors {
		if strings.HasPrefix(m[3], e.prefix) {
			return fmt.Errorf("%s %q: it must be %s", m[2], m[1], e.want)
		}
	}
	return fmt.Errorf("%s %q: %s", m[2], m[1], m[3])
}

// suggested puts cobra's suggestions for an unknown command on the line of the
// error.
func suggested(err error) error {
	text, names, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !found {
		return err
	}
	return errors.New(text + ": did you mean " + strings.Join(strings.Fields(names), " or ") + "?")
}
