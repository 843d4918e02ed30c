// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Print is `lifeline webhook print`.
type Print struct {
	Options
	Out io.Writer
}

// Run writes the configuration as a manifest.
func (c *Print) Run(context.Context) (code int, err error) {
	text, err := yaml.Marshal(Configuration(c.Options))
	if err != nil {
		return 1, fmt.Errorf("cannot write the configuration: %w", err)
	}
	if _, err := fmt.Fprintf(c.Out, "# The admission webhook of lifeline, written by lifeline webhook print.\n%s",
		text); err != nil {
		return 1, fmt.Errorf("cannot write the configuration: %w", err)
	}
	return 0, nil
}
