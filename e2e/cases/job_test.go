// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
)

// job is the manifest of a Job. Its Pods have the annotations; spec and annotations are YAML.
func job(name, spec, annotations, policy string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s}
spec:
  %[2]s
  template:
    metadata: {annotations: {%[3]s}}
    spec:
      restartPolicy: %[4]s
      terminationGracePeriodSeconds: 1
      containers: [{name: %[1]s, image: "registry.example/%[1]s:1", imagePullPolicy: Never}]
`, name, spec, annotations, policy)
}

// failedJob is a Job whose Pod restarts its container. The Job removes the Pod at its limit.
var failedJob = cases.Case{
	Name: "Job with OnFailure", Report: "kubernetes/kubernetes#74848",
	Manifest: job("migrate", "backoffLimit: 1",
		`lab.lifeline.dev/run: 1s, lab.lifeline.dev/exit-code: "7", lab.lifeline.dev/backoff: 1s`, "OnFailure"),
	Want: []cases.Answer{{Object: "job/migrate", Code: 4, Text: `
Job migrate failed SOME ago: it failed: Job has reached the specified backoff limit: Pod migrate-…: container migrate exited with code 7, restarted once.
Cause: admin created Job migrate at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe job/migrate
`}},
}

// exceededJob is a Job that exceeds its deadline while its Pod runs. The removal of the Pod is a part of the Job.
var exceededJob = cases.Case{
	Name:     "Job after its deadline",
	Manifest: job("slow", "activeDeadlineSeconds: 4", `lab.lifeline.dev/run: 10m`, "Never"),
	Want: []cases.Answer{{Object: "job/slow", Code: 4, Text: `
Job slow failed SOME ago: it failed: Job was active longer than specified deadline.
Cause: admin created Job slow at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe job/slow
`}},
}

// jobWithTTL is a failed Job that its TTL removes.
var jobWithTTL = cases.Case{
	Name: "Job with a TTL", Report: "helm/helm#10576",
	Manifest: job("hook", "ttlSecondsAfterFinished: 0\n  backoffLimit: 0", `lab.lifeline.dev/exit-code: "2"`, "Never"),
	Want: []cases.Answer{{Object: "job/hook", Code: 4, Text: `
Job hook was removed by its TTL SOME ago. Before, it had failed: Job has reached the specified backoff limit: Pod hook-… failed: container hook exited with code 2.
Cause: system:serviceaccount:kube-system:ttl-after-finished-controller deleted Job hook at TIME, trace ID.
`}},
}
