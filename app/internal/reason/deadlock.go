// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Deadlock is in the text of the reason of a Deadlocked Pod, after the message of its condition.
const Deadlock = "; the rollout of Deployment "

// excluded counts the nodes that a Pod of the same place keeps from another Pod, in a message of the scheduler.
var excluded = regexp.MustCompile(`(\d+) node\(s\) didn't (?:match pod anti-affinity rules|have free ports)`)

// Deadlocked returns the reason of an unschedulable Pod of a Deployment whose rollout cannot continue: the Pods of
// the former revision hold the nodes, and may not be deleted before this Pod is ready. It is r for any other Pod.
// held is the number of nodes with Pods of the former revision.
func Deadlocked(r Reason, pod, deployment *history.Version, held int) Reason {
	c, w := refused(pod, "PodScheduled"), deployment.Workload
	if c == nil || w == nil || w.Available > w.Replicas {
		return r
	}
	found := excluded.FindStringSubmatch(c.Message)
	if found == nil {
		return r
	}
	nodes, _ := strconv.Atoi(found[1])
	unavailable := deployment.Field("spec.strategy.rollingUpdate.maxUnavailable")
	if nodes > held || unavailable == nil || share(unavailable.Shown, w.Replicas) > 0 {
		return r
	}
	r.Text += Deadlock + deployment.Name + fmt.Sprintf(" cannot continue: its former Pods hold these nodes, and "+
		"maxUnavailable %s of %d replicas is 0", unavailable.Shown, w.Replicas)
	return r
}

// share returns a number of Pods, given as a number or as a percentage that is rounded down.
func share(text string, of int32) int {
	percent, is := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(percent)
	switch {
	case err != nil:
		return 1
	case is:
		return n * int(of) / 100
	}
	return n
}
