// SPDX-License-Identifier: Apache-2.0

package span

// Term is one name in spans that a backend, an alert or a dashboard may rely on.
type Term struct {
	// Sort is what has the name: SpanName, EventName, AttributeKey or LinkReason.
	Sort Sort
	Name string
	// On names the spans with that attribute or event; for a span, its start and
	// end.
	On      string
	Meaning string
	// Was is the name of the last release, if that was another. Spans carry it
	// beside Name until the next release.
	Was string
}

// Sort is a sort of name.
type Sort string

// The sorts of names.
const (
	SpanName     Sort = "span"
	EventName    Sort = "event"
	AttributeKey Sort = "attribute"
	LinkReason   Sort = "link"
)

// Vocabulary returns every name in the spans of Lifeline, of the operator kit, of the scheduler, of the scheduler
// operator and of the proxies beside the kubelet, sort by sort. docs/span-names.md is generated from it.
func Vocabulary() []Term {
	terms := []Term{}
	for _, list := range [][]Term{
		spanTerms, schedulerSpans, kubeletSpans, eventTerms, schedulerEvents, attributeTerms, schedulerAttributes,
		kubeletAttributes, linkTerms,
	} {
		terms = append(terms, list...)
	}
	return terms
}

var spanTerms = []Term{
	{SpanName, NameRun, "start of the command → settled", "a command under `lifeline run`", ""},
	{SpanName, reconcile + "<Kind>", "first write → outcome", "the reconciliation of an object", ""},
	{
		SpanName,
		"create <Kind>",
		"request received → answered",
		"a write; likewise `update`, `patch`, `apply`, `delete`",
		"",
	},
	{SpanName, NameAmend, "no length", "a new claim about the outcome of the reconciliation above it", ""},
	{SpanName, NameLate, "no length", "a fact that came after the trace had ended", ""},
	{
		SpanName,
		NameAftermath,
		"no length",
		"what happened to the Pods of the change [after its convergence](trace-model.md#the-aftermath), so far",
		"",
	},
	{SpanName, NameSchedule, "Pod created → bound", "scheduling of a Pod", ""},
	{SpanName, NameAttach, "bound → attached", "the attachment of one volume to the node of a Pod", ""},
	{SpanName, NameSandbox, "bound → PodReadyToStartContainers", "volumes, network and sandbox of a Pod", ""},
	{SpanName, NamePull, "start of the pull → image present", "the pull of one image", ""},
	{SpanName, NameInit, "started → finished", "one init container", ""},
	{SpanName, NameStart, "created → started", "the start of one container", ""},
	{SpanName, NameRunning, "started → exited", "the run of a container that exits, as that of a Job", ""},
	{SpanName, NameBackoff, "exit or failed pull → next attempt", "a wait that the kubelet imposed", ""},
	{SpanName, NameReadiness, "last container started → Ready", "probes and readiness gates of a Pod", ""},
	{
		SpanName,
		NamePublish,
		"Ready → ready endpoint in an EndpointSlice",
		"the publication of a Pod by one Service",
		"",
	},
	{SpanName, NameTerminate, "deletion requested → gone", "the end of a Pod", ""},
	{SpanName, NameCondition, "condition false → true", "a condition of any other kind", ""},
	{SpanName, NameRetry, "Pod failed → next Pod created", "the pause before a Job tries again", ""},
	{
		SpanName,
		NameAddress,
		"write → address in the status",
		"the address of a load balancer, of a Service or an Ingress",
		"",
	},
	{
		SpanName,
		"<controller> reconcile",
		"dequeued → returned",
		"one call of an operator's reconciler (operator kit)",
		"",
	},
	{
		SpanName,
		"queue wait",
		"due → dequeued",
		"the wait in an operator's queue (operator kit), or in the scheduling queue (scheduler)",
		"",
	},
	{SpanName, "watch lag", "object written → delivered", "the delay of an operator's watch (operator kit)", ""},
	{SpanName, "get <Kind>", "request sent → answered", "a read without informer; likewise `list` (operator kit)", ""},
	{SpanName, "admission <Kind>", "review received → answered", "a call of an operator's webhook (operator kit)", ""},
}

var eventTerms = []Term{
	{EventName, EventWrite, "a reconciliation", "one stored write whose request was not seen", ""},
	{EventName, EventExited, "`run container`, `init container`", "the exit of a container", ""},
	{EventName, EventUnschedulable, "`schedule`", "a failed attempt to schedule the Pod", ""},
	{EventName, EventAutoscale, "a scaling by an autoscaler", "the metrics and targets of the decision", ""},
	{EventName, EventPrefix + "<reason>", "a phase or a reconciliation", "a Kubernetes Event", ""},
}

var attributeTerms = []Term{
	{
		AttributeKey,
		string(KeyOutcome),
		"a reconciliation, a refused write",
		"an outcome of the [table of states](trace-model.md#states)",
		"",
	},
	{
		AttributeKey,
		string(KeyEvidence),
		"every span but a root or a phase",
		"the evidence for the parent: `annotation`, `request`, `identity`, `owner`, `relation`, `event`, `time` " +
			"or `unverified`",
		"",
	},
	{AttributeKey, string(KeyTimeEnd), "every span", "the source of the end's time", ""},
	{AttributeKey, string(KeyTimeStart), "every span", "the source of the start's time, if it differs", ""},
	{
		AttributeKey,
		string(KeyEarliest),
		"a reconciliation, an event of a write",
		"the earliest possible start (RFC 3339), if nothing has the time: the start is then the latest possible one",
		"",
	},
	{AttributeKey, string(KeyActor), "a write", "the program that wrote", ""},
	{
		AttributeKey,
		string(KeyActorUser),
		"a write, a reconciliation",
		"the user of the request, from the audit log",
		"",
	},
	{
		AttributeKey,
		string(KeyUserSource),
		"beside `lifeline.actor.user`",
		"`audit` (a log file, or a webhook that authenticates its senders) or `audit_unauthenticated`",
		"",
	},
	{AttributeKey, string(KeyImpersonator), "beside `lifeline.actor.user`", "the user who impersonated that one", ""},
	{AttributeKey, string(KeyCriticalPath), "a span on the critical path", "true", ""},
	{AttributeKey, string(KeyCommand), "`run`", "the command line, without words that may be secret", ""},
	{AttributeKey, string(KeyExitCode), "`run`", "the exit code of the command", ""},
	{AttributeKey, string(KeyHeals), "the root of a healing trace", "the object whose loss is repaired", ""},
	{AttributeKey, string(KeyAutoscaler), "a scaling by an autoscaler", "the kind and name of the autoscaler", ""},
	{AttributeKey, string(KeyReplicas), "a change of a workload", "the desired number of its Pods", ""},
	{AttributeKey, string(KeyScheduler), "a Pod", "its scheduler, if that is not `default-scheduler`", ""},
	{AttributeKey, string(KeyStorageClasses), "a Pod", "the storage classes of its claims, each once", ""},
	{
		AttributeKey,
		string(KeyCPU),
		"a Pod",
		"the CPU that its containers request, without init containers, in thousandths",
		"",
	},
	{AttributeKey, string(KeyMemory), "a Pod", "the memory that they request, in bytes", ""},
	{AttributeKey, string(KeyKubelet), "a Pod", "the version of the kubelet of its node", ""},
	{AttributeKey, string(KeyNodePool), "a Pod", "the node pool of its node, by a label of its provider", ""},
	{
		AttributeKey,
		string(KeyHealth),
		"a change of an object of a custom kind",
		"the source of the verdict on it: `configuration`, `argo-cd`, `names`, `kstatus`, `none` or `none yet` " +
			"([health](health.md))",
		"",
	},
	{
		AttributeKey,
		string(KeyRevision),
		"a change by Helm, Argo CD, Flux or cert-manager",
		"the revision that the tool publishes, applies or issues",
		"",
	},
	{
		AttributeKey,
		string(KeyRevisionUser),
		"beside `lifeline.revision`",
		"the user of its request, from the tool's own record",
		"",
	},
	{
		AttributeKey,
		string(KeyDrift),
		"the correction of a drift",
		"the kind and name of the tool's object; the tool undoes another user's change",
		"",
	},
	{
		AttributeKey,
		string(KeyFight),
		"a change in a fight of several authors",
		"the paths of the fields over which they fight, at most 16",
		"",
	},
	{
		AttributeKey,
		string(KeyFightOpponents),
		"beside `lifeline.fight`",
		"the users or components whose values the change overwrote",
		"",
	},
	{
		AttributeKey,
		string(KeyFightCount),
		"beside `lifeline.fight`",
		"the number of this change among those that overwrote an opponent's value, from 1",
		"",
	},
	{
		AttributeKey,
		string(KeyFightDuration),
		"beside `lifeline.fight`",
		"seconds since the value that the first of these changes brought back",
		"",
	},
	{
		AttributeKey,
		string(KeyParentSampled),
		"a span whose parent is in another system",
		"whether that parent was sampled",
		"",
	},
	{AttributeKey, string(KeyAttempt), "a repeated phase", "the number of the attempt, from 1", ""},
	{AttributeKey, string(KeyVerb), "a write", "the effect: `create`, `update`, `delete` (its start) or `remove`", ""},
	{
		AttributeKey,
		string(KeyFields),
		"the reconciliation of a changed object",
		"the paths of the changed fields, at most 16",
		"",
	},
	{
		AttributeKey,
		string(KeyEdits),
		"the reconciliation of a changed object, a write",
		"the changes in words, at most 16, such as `image web:1 → web:2`; values only of " +
			"[some fields](trace-model.md#what-a-change-changed)",
		"",
	},
	{
		AttributeKey,
		string(KeyPart),
		"a write",
		"the part of the object that changed: `desired`, `metadata`, `observed`, `bookkeeping` or `ownership`",
		"",
	},
	{
		AttributeKey,
		string(KeyRepeats),
		"a refused write, or an amendment",
		"how many equal refusals, or writes of a series, followed",
		"",
	},
	{
		AttributeKey,
		string(KeyLate),
		"every span of a reconciliation",
		"true if it was known only after its trace had been handed out",
		"",
	},
	{
		AttributeKey,
		string(KeyClaim),
		"an amendment of the outcome, a revised reconciliation",
		"the number of the claim, from 1",
		"",
	},
	{
		AttributeKey,
		string(KeyTraceOutcome),
		"an amendment of the outcome",
		"the outcome of the whole trace from then on, if it changed",
		"",
	},
	{AttributeKey, string(KeyWas), "a revised reconciliation", "its outcome by the first claim", ""},
	{
		AttributeKey,
		string(KeyAftermath),
		"`aftermath`",
		"the number of the span in its series, from 1; the highest one is valid",
		"",
	},
	{
		AttributeKey,
		string(KeyAftermathSeries),
		"`aftermath`",
		"the number of the series: each workload of the change has one",
		"",
	},
	{AttributeKey, string(KeyAftermathSince), "`aftermath`", "the time of the convergence (RFC 3339)", ""},
	{AttributeKey, string(KeyAftermathWindow), "`aftermath`", "the seconds from then on that count", ""},
	{AttributeKey, string(KeyAftermathOver), "`aftermath`", "whether nothing more will count", ""},
	{
		AttributeKey,
		string(KeyAftermathRestarts),
		"`aftermath`",
		"the restarts of containers; absent for none, as all counts",
		"",
	},
	{AttributeKey, string(KeyAftermathOOMKills), "`aftermath`", "the ends of containers for lack of memory", ""},
	{AttributeKey, string(KeyAftermathReadinessLosses), "`aftermath`", "how often a Pod was not ready any more", ""},
	{AttributeKey, string(KeyAftermathEvictions), "`aftermath`", "the evictions", ""},
	{AttributeKey, string(KeyAftermathFailedProbes), "`aftermath`", "the failed probes", ""},
	{
		AttributeKey,
		string(KeyAftermathExits),
		"`aftermath`",
		"the ways in which containers ended, at most 8: `container/code/count/reason`",
		"",
	},
	{
		AttributeKey,
		string(KeyBeforeWindow),
		"`aftermath`",
		"the seconds before the change that the next counts are about; absent for a new workload",
		"",
	},
	{
		AttributeKey,
		string(KeyBeforeRestarts),
		"`aftermath`",
		"the restarts of the workload's containers in that time",
		"",
	},
	{AttributeKey, string(KeyBeforeOOMKills), "`aftermath`", "the ends for lack of memory in that time", ""},
	{AttributeKey, string(KeyBeforeReadinessLosses), "`aftermath`", "the losses of readiness in that time", ""},
	{AttributeKey, string(KeyBeforeEvictions), "`aftermath`", "the evictions in that time", ""},
	{AttributeKey, string(KeyBeforeFailedProbes), "`aftermath`", "the failed probes in that time", ""},
	{AttributeKey, string(KeyBeforeExits), "`aftermath`", "the ways in which containers ended in that time", ""},
	{AttributeKey, string(KeyAuditMatch), "a write", "how the request in the audit log was matched with the write", ""},
	{
		AttributeKey,
		string(KeyConvention),
		"a reconciliation with evidence `annotation`",
		"the convention of the context on the object",
		"",
	},
	{
		AttributeKey,
		string(KeyReason),
		"a root, an object that a command wrote, one that waits below it, a phase, an event",
		"the machine-readable reason; on a root and such objects its [category](reasons.md)",
		"",
	},
	{AttributeKey, string(KeyReasonObject), "with a category", "the kind and the name of the object to blame", ""},
	{AttributeKey, string(KeyReasonMessage), "with a category", "the reason in a sentence", ""},
	{
		AttributeKey,
		string(KeyReasonSince),
		"with a category",
		"the time of the first version with the reason, if it was observed",
		"",
	},
	{
		AttributeKey,
		string(KeyReasonBefore),
		"with a category",
		"at most five earlier waits of the object, such as `2s for a node`",
		"",
	},
	{AttributeKey, string(KeyReasonNext), "with a category", "a command that shows more", ""},
	{
		AttributeKey,
		string(KeyReasonCause),
		"with a category",
		"the category of another object that the object waits for",
		"",
	},
	{
		AttributeKey,
		string(KeyMessage),
		"a failed or waiting span, an event",
		"the message, without text that may quote values",
		"",
	},
	{AttributeKey, string(KeyLink), "a link", "why the link is there; see below", ""},
	{AttributeKey, string(KeyExit), "`backoff`, `container exited`", "the exit code of the container", ""},
	{AttributeKey, string(KeyEventCount), "`event <reason>`", "how often the Event occurred, if more than once", ""},
	{AttributeKey, string(KeyOriginTrace), "a joined span of another component", "the trace in which it was made", ""},
	{AttributeKey, string(KeyOriginSpan), "a joined span of another component", "its first ID, if that changed", ""},
	{
		AttributeKey,
		string(KeyOriginParent),
		"a joined span of another component",
		"its first parent, if that changed",
		"",
	},
	{
		AttributeKey,
		string(KeyCorrection),
		"a joined span of another component",
		"seconds by which it was moved, for a wrong clock",
		"",
	},
	{
		AttributeKey,
		"lifeline.controller",
		"`<controller> reconcile`, `queue wait`, `watch lag`",
		"the controller's name (operator kit)",
		"",
	},
	{
		AttributeKey,
		"lifeline.result",
		"`<controller> reconcile`",
		"`done`, `requeue`, `error` or `terminal` (operator kit)",
		"",
	},
	{
		AttributeKey,
		"lifeline.requeue_after",
		"`<controller> reconcile`",
		"seconds until the requested next call (operator kit)",
		"",
	},
	{
		AttributeKey,
		"lifeline.triggers.dropped",
		"`<controller> reconcile`",
		"triggers beyond the eight that are kept (operator kit)",
		"",
	},
	{
		AttributeKey,
		"lifeline.writes.dropped",
		"`<controller> reconcile`",
		"writes beyond those that are kept (operator kit)",
		"",
	},
	{AttributeKey, "lifeline.queue.adds", "`queue wait`", "the adds that one turn answers (operator kit)", ""},
	{
		AttributeKey,
		"lifeline.conflict",
		"an operator's write",
		"true if the object had changed meanwhile (operator kit)",
		"",
	},
	{AttributeKey, "lifeline.operation", "`admission <Kind>`", "the operation of the request (operator kit)", ""},
	{AttributeKey, "lifeline.allowed", "`admission <Kind>`", "the webhook's answer (operator kit)", ""},
	{AttributeKey, string(KeyGroup), "every span of an object", "the API group; absent for the core group", ""},
	{AttributeKey, string(KeyVersion), "every span of an object", "the API version", ""},
	{AttributeKey, string(KeyKind), "every span of an object", "the kind", ""},
	{AttributeKey, string(KeyNamespace), "every span of a namespaced object", "the namespace", ""},
	{AttributeKey, string(KeyName), "every span of an object", "the name", ""},
	{AttributeKey, string(KeyUID), "every span of an object", "the UID", ""},
	{AttributeKey, string(KeyGeneration), "a reconciliation, a write", "metadata.generation", ""},
	{AttributeKey, string(KeyRV), "a write", "metadata.resourceVersion after the write", ""},
	{AttributeKey, string(KeySubresource), "a write", "the subresource", ""},
	{AttributeKey, string(KeyCondition), "`condition`", "the type of the condition", ""},
	{AttributeKey, string(KeyAuditID), "a write", "the ID of the request in the audit log", ""},
	{AttributeKey, string(KeyEventType), "`event <reason>`", "`Normal` or `Warning`", ""},
	{AttributeKey, string(KeyVolumes), "`sandbox`", "the number of volumes", ""},
	{AttributeKey, string(KeyGrace), "`terminate`", "the grace period in seconds", ""},
	{AttributeKey, string(KeyPreStop), "`terminate`", "true if a container has a preStop hook", ""},
}

var linkTerms = []Term{
	{LinkReason, "annotation", "", "a context on the object, from another trace than its write's", ""},
	{LinkReason, "autoscaler", "", "the last change of the autoscaler that scaled the object", ""},
	{LinkReason, "claim", "", "the creation of a claim that the Pod waits for", ""},
	{LinkReason, "concurrent", "", "a reconciliation of another part of the same object, at the same time", ""},
	{LinkReason, "config", "", "the last change of a ConfigMap or Secret that the restarted workload reads", ""},
	{LinkReason, "delivery", "", "the last revision of the tool that corrects a drift", ""},
	{LinkReason, "deletion", "", "the context of an object under deletion (operator kit)", ""},
	{LinkReason, "event", "", "a change of an object that a Kubernetes Event relates to this one", ""},
	{LinkReason, "episode", "", "the reconcile that began a healing or deletion (operator kit)", ""},
	{LinkReason, "fight", "", "the change of an opponent that this change overwrites", ""},
	{LinkReason, "healing", "", "the context of a converged object, from the trace that heals it (operator kit)", ""},
	{LinkReason, "heals", "", "the newest change of the lost object that the write replaces", ""},
	{LinkReason, "joined", "", "a span of another component, in link mode", ""},
	{LinkReason, "limit-range", "", "the change of a LimitRange that had refused the object", ""},
	{LinkReason, "object", "", "the object's context where it is not the parent (operator kit)", ""},
	{LinkReason, "owner", "", "the last reconciliation of the owner, from a healing trace or a Node's trace", ""},
	{LinkReason, "pod", "", "the last trace of the Pod of a session such as exec", ""},
	{LinkReason, "previous", "", "the reconciliation before this one, in another trace", ""},
	{LinkReason, "quota", "", "the change of the quota that had refused the object", ""},
	{
		LinkReason,
		"relation",
		"",
		"a change of the object's cause by a [relation](trace-rules.md#relations-by-name)",
		"",
	},
	{LinkReason, "revision", "", "the publication of the revision, from another open change", ""},
	{LinkReason, LinkServer, "", "the API server's span of the request, in another trace", ""},
	{LinkReason, "stale", "", "a context of a finished trace, of another object or of too long ago", ""},
	{LinkReason, "stream", "", "the kubelet's or API server's part of a long session", ""},
	{LinkReason, "superseded", "", "a context for a desired state that was replaced", ""},
	{LinkReason, "trigger", "", "the context of a further object that asked for this reconcile (operator kit)", ""},
	{LinkReason, "unverified", "", "a context of an open trace that has nothing to do with the object", ""},
}
