// SPDX-License-Identifier: Apache-2.0

// Package scheduler adds spans to a kube-scheduler: one for each scheduling attempt of a Pod, with
// its wait in the queue, its scheduling and binding cycle, each extension point and each plugin.
//
// Who builds an own scheduler calls [NewCommand] in place of app.NewSchedulerCommand:
//
//	command := scheduler.NewCommand(app.WithPlugin(myplugin.Name, myplugin.New))
//	os.Exit(cli.Run(command))
//
// The environment variables of OpenTelemetry configure the spans. Without an endpoint for them, the
// scheduler is the original one. A program with its own set-up calls [Trace] between the
// construction and the start of its scheduler.
//
// Placements, statuses, events and metrics are those of the original: Pods that are not sampled run
// through the original frameworks, and sampled Pods through copies with the same plugins.
package scheduler
