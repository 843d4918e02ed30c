// SPDX-License-Identifier: Apache-2.0

package span

// The names in the spans of the module scheduler, and of the scheduler operator in examples/.
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
		{
			SpanName, "PreEnqueue <plugin>", "first call → the call that let the Pod pass",
			"the gate of a plugin, below `queue wait` (scheduler)", "",
		},
		{
			SpanName, "<extension point> extender", "request → answer",
			"a call of an extender at `Filter`, `Score`, `PostFilter` or `Bind` (scheduler)", "",
		},
		{
			SpanName, "replace scheduler", "end of one scheduler → the next one is ready",
			"the start of a scheduler with the new profile of a policy (scheduler operator)", "",
		},
	}
	schedulerEvents = []Term{
		{EventName, "ungated", "`queue wait`", "the last gate of the Pod was removed (scheduler)", ""},
		{EventName, "moved", "`queue wait`", "an event moved the Pod out of the unschedulable Pods (scheduler)", ""},
		{EventName, "backoff ended", "`queue wait`", "the end of the pause after a failed attempt (scheduler)", ""},
	}
	schedulerAttributes = []Term{
		scheduler("profile", "`scheduling attempt`, `replace scheduler`", "the scheduler's name, `spec.schedulerName`"),
		scheduler("attempt", "`scheduling attempt`", "the number of the attempt, from 1"),
		scheduler("outcome", "`scheduling attempt`", "`bound`, `unschedulable` or `error`"),
		scheduler("rejectors", "`scheduling attempt`", "the plugins that rejected the Pod, or nodes for it"),
		scheduler("nominated_node", "`scheduling attempt`", "the node on which preemption makes room"),
		scheduler("queue.gated", "`queue wait`", "seconds until the last gate let the Pod pass"),
		scheduler("queue.backoff", "`queue wait`", "seconds of pause after the failed attempt"),
		scheduler("queue.flushed", "`queue wait`", "true if the Pod was tried again because of the time alone"),
		scheduler("queue.rejectors", "`queue wait`", "the plugins because of which the Pod waited"),
		scheduler("queue.event", "`queue wait`", "the event that moved the Pod, such as `NodeAdd`"),
		scheduler("queue.event.object", "beside `k8s.scheduler.queue.event`", "the kind and the name of its object"),
		scheduler("queue.event.plugin", "beside `k8s.scheduler.queue.event`", "the plugin whose hint moved the Pod"),
		scheduler("extension_point", "an extension point, a plugin", "its name"),
		scheduler("plugin", "a plugin", "its name"),
		scheduler("status", "an extension point, a plugin", "its status, unless that is `Success`"),
		scheduler("message", "beside `k8s.scheduler.status`",
			"the message of the status, without text that may quote values"),
		scheduler("skipped", "an extension point", "the plugins that had nothing to do for the Pod"),
		scheduler("calls", "a plugin", "the number of its calls; for `Filter` and `Score`, of its nodes"),
		scheduler("duration", "a plugin", "seconds in its calls, extrapolated for many; some run at once"),
		scheduler("extender", "an extender", "its host"),
		scheduler("nodes.all", "`Filter`", "the nodes of the cluster, if no node fits"),
		scheduler("nodes.evaluated", "`Filter`, `Score`, an extender, `PostFilter DefaultPreemption`",
			"the nodes that were filtered, scored or tried"),
		scheduler("nodes.feasible", "`Filter`", "the nodes that fit"),
		scheduler("nodes.rejected", "a plugin of `Filter`, an extender", "the nodes that it rejected"),
		scheduler("nodes.kept", "a plugin of `PreFilter`", "the nodes that it left, if not all"),
		scheduler("reject.reasons", "a plugin of `Filter`, an extender",
			"at most eight reasons, the most frequent first"),
		scheduler("reject.counts", "beside `k8s.scheduler.reject.reasons`", "the nodes with each reason"),
		scheduler("reject.examples", "beside `k8s.scheduler.reject.reasons`", "at most three nodes with each reason"),
		scheduler("score", "`Score`, its plugins", "the weighted score of the chosen node"),
		scheduler("score.second", "`Score`, its plugins", "the weighted score of the best other node"),
		scheduler("score.second_node", "`Score`", "the best other node"),
		scheduler("score.equal", "`Score`", "the other nodes with the same score as the chosen one"),
		scheduler("preemption.candidates", preempts, "the nodes on which the Pod fits without its victims"),
		scheduler("preemption.candidate.nodes", preempts, "at most eight of them, the chosen one first"),
		scheduler("preemption.candidate.victims", preempts, "the number of victims on each"),
		scheduler("preemption.candidate.priorities", preempts, "the highest priority of a victim on each"),
		scheduler("preemption.candidate.violations", preempts, "the violated disruption budgets on each"),
		scheduler(
			"preemption.decided_by", preempts,
			"what chose the node: `only_candidate`, `disruption_budgets`, `highest_priority`, `sum_of_priorities`, "+
				"`victims`, `start_time`, `none` (all equal) or `plugin` (an own order)",
		),
		scheduler("preemption.victims", preempts, "the number of victims on the chosen node"),
		scheduler("preemption.victim.names", preempts, "at most sixteen of them, with their namespaces"),
		scheduler("preemption.victim.priorities", preempts, "their priorities"),
		{
			AttributeKey, "k8s.scheduler.changes", "`replace scheduler`",
			"the difference to the profile before, one text for each property of a plugin, such as " +
				"`Score NodeResourcesFit: weight 1 → 5` (scheduler operator)", "",
		},
	}
)

// preempts is the span of preemption.
const preempts = "`PostFilter DefaultPreemption`"

// scheduler returns an attribute of the module scheduler.
func scheduler(name, on, meaning string) Term {
	return Term{AttributeKey, "k8s.scheduler." + name, on, meaning + " (scheduler)", ""}
}
