// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// TestTracingIsDeployed checks that the deployed operator's configuration file sends spans.
func TestTracingIsDeployed(t *testing.T) {
	c, err := tracing.Load("manager/tracing.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Endpoint == nil || c.SamplingRatePerMillion == nil || *c.SamplingRatePerMillion == 0 {
		t.Errorf("the configuration %+v sends nothing", c)
	}
}
