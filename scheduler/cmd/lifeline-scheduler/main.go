// SPDX-License-Identifier: Apache-2.0

// Command lifeline-scheduler is a kube-scheduler with a span for each plugin. It has the flags and
// the configuration of kube-scheduler.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version

	"github.com/kube-lifeline/lifeline/scheduler"
)

func main() {
	os.Exit(cli.Run(scheduler.NewCommand()))
}
