// SPDX-License-Identifier: Apache-2.0

package span

// The names in the spans of the module scheduler.
var (
	schedulerSpans = []Term{
		{
			SpanName, "scheduling attempt", "queued → bound or rejected",
			"one attempt to schedule a Pod, below its `schedule` (scheduler)", "",
		},
		{SpanName, "scheduling cycle", "dequeued → node chosen, or none", "the choice of a node (scheduler)", ""},
		{
			SpanName,
			"binding cycle",
			"node chosen → bound",
			"the preparation of the node, and the binding (scheduler)",
			"",
		},
		{
			SpanName,
			"<extension point>",
			"first plugin called → last one returned",
			"`PreFilter`, `Filter`, `PostFilter`, `PreScore`, `Score`, `Reserve`, `Permit`, `Unreserve`, " +
				"`WaitOnPermit`, `PreBind`, `Bind` or `PostBind` (scheduler)",
			"",
		},
		{
			SpanName, "<extension point> <plugin>", "first call → last return",
			"one plugin, such as `Filter NodeResourcesFit`; for all nodes (scheduler)", "",
		},
	}
	schedulerEvents = []Term{
		{EventName, "ungated", "`queue wait`", "the last gate of the Pod was removed (scheduler)", ""},
		{EventName, "backoff ended", "`queue wait`", "the end of the pause after a failed attempt (scheduler)", ""},
	}
	schedulerAttributes = []Term{
		scheduler("profile", "`scheduling attempt`", "the scheduler's name, `spec.schedulerName`"),
		scheduler("attempt", "`scheduling attempt`", "the number of the attempt, from 1"),
		scheduler("outcome", "`scheduling attempt`", "`bound`, `unschedulable` or `error`"),
		scheduler("rejectors", "`scheduling attempt`", "the plugins that rejected the Pod, or nodes for it"),
		scheduler("nominated_node", "`scheduling attempt`", "the node on which preemption makes room"),
		scheduler("queue.gated", "`queue wait`", "seconds behind a scheduling gate"),
		scheduler("queue.backoff", "`queue wait`", "seconds of pause after the failed attempt"),
		scheduler("queue.flushed", "`queue wait`", "true if the Pod was tried again because of the time alone"),
		scheduler("queue.rejectors", "`queue wait`", "the plugins because of which the Pod waited"),
		scheduler("extension_point", "an extension point, a plugin", "its name"),
		scheduler("plugin", "a plugin", "its name"),
		scheduler("status", "an extension point, a plugin", "its status, unless that is `Success`"),
		scheduler(
			"message",
			"beside `k8s.scheduler.status`",
			"the message of the status, without text that may quote values",
		),
		scheduler("skipped", "an extension point", "the plugins that had nothing to do for the Pod"),
		scheduler("calls", "a plugin", "the number of its calls"),
		scheduler("duration", "a plugin", "seconds in its calls, extrapolated for many; some run at once"),
		scheduler("nodes.all", "`Filter`", "the nodes of the cluster, if no node fits"),
		scheduler("nodes.evaluated", "`Filter`, `Score`", "the nodes that were filtered, or scored"),
		scheduler("nodes.feasible", "`Filter`", "the nodes that fit"),
		scheduler("nodes.rejected", "a plugin of `Filter`", "the nodes that it rejected"),
		scheduler("nodes.kept", "a plugin of `PreFilter`", "the nodes that it left, if not all"),
		scheduler("reject.reasons", "a plugin of `Filter`", "at most eight reasons, the most frequent first"),
		scheduler("reject.counts", "beside `k8s.scheduler.reject.reasons`", "the nodes with each reason"),
		scheduler("reject.examples", "beside `k8s.scheduler.reject.reasons`", "at most three nodes with each reason"),
		scheduler("score", "`Score`, its plugins", "the weighted score of the chosen node"),
		scheduler("score.second", "`Score`, its plugins", "the weighted score of the best other node"),
		scheduler("score.second_node", "`Score`", "the best other node"),
		scheduler("score.equal", "`Score`", "the other nodes with the same score as the chosen one"),
	}
)

// scheduler returns an attribute of the module scheduler.
func scheduler(name, on, meaning string) Term {
	return Term{AttributeKey, "k8s.scheduler." + name, on, meaning + " (scheduler)", ""}
}
