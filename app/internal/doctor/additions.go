// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/received"
)

// The guides to programs of ours that send spans in place of components.
const (
	guideScheduler = docs.Scheduler
	guideVolumes   = docs.Volumes
	guideDevices   = docs.Devices
)

// tracedScheduler is the version of Kubernetes of lifeline-scheduler.
const tracedScheduler = "v1.37.2"

// checkScheduler reports on the spans of a scheduler. kube-scheduler itself has none, so they are
// never Missing.
func checkScheduler(f *Facts) Check {
	c := Check{
		Name: "scheduler", Status: Advice,
		Lose: "why that node: the plugins that rejected nodes, the scores, and the waits in the queue",
	}
	s := f.server()
	if s == nil || !s.receivesSpans() {
		return none // other checks have the lines for a receiver
	}
	cluster := ""
	if is := f.cluster(); is != nil {
		cluster = is.Version
	}
	got := s.From.Received.Component(received.Scheduler)
	switch {
	case got.Spans > 0:
		c.Found = fmt.Sprintf("%d spans in %s", got.Spans, f.window())
		if got.Version != "" {
			c.Found += "; it is of Kubernetes " + got.Version
		}
		if got.Version == "" || cluster == "" || minor(got.Version) == minor(cluster) {
			c.Status, c.Lose = OK, ""
			return c
		}
		c.Found += ", and the API server " + cluster
		c.Lose = "nothing; but a scheduler of another version may place Pods otherwise, and one that is newer than " +
			"the API server is not supported"
		c.Add = []Lines{{
			Where: "the scheduler: one of the version of the cluster (" + guideScheduler + ")",
			Text:  "# Kubernetes " + minor(cluster) + "\n",
		}}
		return c
	case got.All > 0:
		c.Found = fmt.Sprintf("no span for %s; before, %d came", duration(s.From.Received.AsOf.Sub(got.Last)), got.All)
	case s.counted() < young:
		c.Status, c.Lose = Unknown, ""
		c.Found = "no span yet; the server counts only for " + duration(s.counted())
		return c
	default:
		c.Found = "no span in " + f.window() + "; " + f.original() + " sends none"
	}
	if cluster != "" && minor(cluster) != minor(tracedScheduler) {
		c.Found += fmt.Sprintf(
			"; lifeline-scheduler is of Kubernetes %s, and the cluster is %s",
			tracedScheduler,
			cluster,
		)
		return c
	}
	c.Add = f.schedulerLines()
	return c
}

// original names kube-scheduler, with its versions if they are known.
func (f *Facts) original() string {
	name := "kube-scheduler itself"
	if is := f.cluster(); is != nil {
		if versions := distinct(is.Schedulers.Value, func(p Process) string { return p.Version }); len(versions) > 0 {
			name += " (" + some(versions) + ")"
		}
	}
	return name
}

// schedulerLines put lifeline-scheduler into a cluster.
func (f *Facts) schedulerLines() []Lines {
	where := "the scheduler of the control plane: lifeline-scheduler in place of kube-scheduler, with the same " +
		"arguments"
	if is := f.cluster(); is != nil {
		if m, ok := is.managed(); ok {
			where = m.name + " does not let one replace its scheduler: a Deployment of lifeline-scheduler with a " +
				"schedulerName of its own, for the Pods that name it"
		}
	}
	return []Lines{{
		Where: where + " (" + guideScheduler + ")",
		Text:  fmt.Sprintf("OTEL_EXPORTER_OTLP_ENDPOINT=http://%s\n", f.endpoint()),
	}}
}

// minor returns the minor version of Kubernetes, such as 1.37; a text of another form as it is.
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// checkDrivers reports on the spans of calls to CSI drivers. It returns none for a cluster without
// drivers.
func checkDrivers(f *Facts) Check {
	return f.checkCalls(received.CSIDriver, func(n Node) []string { return n.Drivers }, Check{
		Name: "CSI drivers",
		Lose: "which volume a Pod waited for: the calls of the kubelet that stage, mount and unmount it",
		Add: []Lines{{
			Where: "the DaemonSet of each driver: lifeline-csi-proxy between the kubelet and the driver (" +
				guideVolumes + ")",
			Text: fmt.Sprintf("lifeline-csi-proxy --listen=/csi/traced.sock --driver=/csi/csi.sock\n"+
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://%s\n", f.endpoint()),
		}},
	})
}

// checkDevices reports on the spans of calls to device plugins. It returns none for a cluster without
// extended resources.
func checkDevices(f *Facts) Check {
	return f.checkCalls(received.DevicePlugin, func(n Node) []string { return n.Devices }, Check{
		Name: "device plugins",
		Lose: "which devices a Pod got, and how long it waited for them: the calls of the kubelet to device plugins",
		Add: []Lines{{
			Where: "a DaemonSet of lifeline-device-proxy, between the kubelet and the device plugins (" +
				guideDevices + ")",
			Text: fmt.Sprintf("lifeline-device-proxy --plugins=/var/lib/kubelet/device-plugins/traced\n"+
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://%s\n", f.endpoint()),
		}},
	})
}

// checkCalls completes c, the check of the spans of the kubelet's calls to its plugins. of returns the
// plugins of a node, or their resources. Without a name and without a span it returns none.
func (f *Facts) checkCalls(component string, of func(Node) []string, c Check) Check {
	s := f.server()
	if s == nil || !s.receivesSpans() {
		return none
	}
	var names []string
	for _, n := range f.machines() {
		names = append(names, of(n)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	got := s.From.Received.Component(component)
	c.Status = Advice
	switch {
	case got.Spans > 0:
		c.Status, c.Lose, c.Add = OK, "", nil
		c.Found = fmt.Sprintf("%d calls in %s", got.Spans, f.window())
	case got.All > 0: // such calls are rare
		c.Status, c.Lose, c.Add = OK, "", nil
		c.Found = fmt.Sprintf("%d calls, the last one %s ago", got.All, duration(s.From.Received.AsOf.Sub(got.Last)))
	case len(names) == 0:
		return none
	case s.counted() < young:
		c.Status, c.Lose, c.Add = Unknown, "", nil
		c.Found = "no call yet; the server counts only for " + duration(s.counted())
	default:
		c.Found = fmt.Sprintf("no call in %s; the nodes have %s", f.window(), some(names))
	}
	return c
}
