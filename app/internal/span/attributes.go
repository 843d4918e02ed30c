// SPDX-License-Identifier: Apache-2.0

package span

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// SchemaURL names the version of Lifeline's span names and attributes.
const SchemaURL = lifeline.SchemaURL

// LinkServer is the reason of a link to the API server's own span of a request, in another
// trace.
const LinkServer = "server"

// Values of KeyUserSource. UserAudit is an audit log file, or a webhook that authenticates its
// senders. UserUnauthenticated is a webhook to which any local process can send.
const (
	UserAudit           = "audit"
	UserUnauthenticated = "audit_unauthenticated"
)

// Attribute keys of Lifeline. OpenTelemetry's semantic conventions define the k8s.* and container.*
// keys.
const (
	KeyOutcome   = attribute.Key("lifeline.outcome")
	KeyEvidence  = attribute.Key("lifeline.evidence")
	KeyTimeStart = attribute.Key("lifeline.time.source.start")
	KeyTimeEnd   = attribute.Key("lifeline.time.source")
	// KeyEarliest is the earliest possible start, in RFC 3339, of a span whose start is the latest
	// possible one.
	KeyEarliest  = attribute.Key("lifeline.time.earliest")
	KeyActorUser = attribute.Key("lifeline.actor.user")
	// KeyUserSource names the source of the user: UserAudit or UserUnauthenticated.
	KeyUserSource = attribute.Key("lifeline.actor.user_source")
	// KeyImpersonator is the user who impersonates the request's user.
	KeyImpersonator = attribute.Key("lifeline.actor.impersonator")
	KeyActor        = attribute.Key("lifeline.actor.component")
	KeyCriticalPath = attribute.Key("lifeline.critical_path")
	KeyCommand      = attribute.Key("lifeline.run.command")
	KeyExitCode     = attribute.Key("lifeline.run.exit_code")
	KeyHeals        = attribute.Key("lifeline.heals")
	// KeyAutoscaler is the autoscaler that changed a number of replicas.
	KeyAutoscaler = attribute.Key("lifeline.autoscaler")
	// KeyHealth is the source of the verdict on an object of a custom kind, see observation.Judge.
	KeyHealth = attribute.Key("lifeline.health")
	// KeyRevision is the revision that a tool of continuous delivery publishes or applies.
	KeyRevision = attribute.Key("lifeline.revision")
	// KeyRevisionUser is the user who asked for the revision, by the tool's own statement.
	KeyRevisionUser = attribute.Key("lifeline.revision.user")
	// KeyDrift is the object of the tool that undoes a change of somebody else.
	KeyDrift = attribute.Key("lifeline.drift")
	// KeyFight are the paths of the fields over which authors fight. KeyFightOpponents are the authors
	// of the overwritten values. KeyFightCount is the number of the write in the fight, from 1, and
	// KeyFightDuration the duration of the fight so far, in seconds.
	KeyFight          = attribute.Key("lifeline.fight")
	KeyFightOpponents = attribute.Key("lifeline.fight.opponents")
	KeyFightCount     = attribute.Key("lifeline.fight.count")
	KeyFightDuration  = attribute.Key("lifeline.fight.duration")
	// KeyParentSampled is the sampled flag of a parent outside the trace.
	KeyParentSampled = attribute.Key("lifeline.parent.sampled")
	KeyAttempt       = attribute.Key("lifeline.attempt")
	KeyPart          = attribute.Key("lifeline.write.part")
	// KeyFields are the paths of the fields that a change set or removed, without their values.
	KeyFields = attribute.Key("lifeline.write.fields")
	// KeyEdits says in words what a change or a write changed: "image web:1 → web:2". Only fields of a
	// fixed list have values.
	KeyEdits = attribute.Key("lifeline.write.edits")
	// KeyRepeats counts the refused writes equal to this one, or the further writes of a series.
	KeyRepeats = attribute.Key("lifeline.write.repeats")
	// KeyLate marks the spans of a reconciliation that was known only after its trace had been handed out.
	KeyLate = attribute.Key("lifeline.late")
	// KeyClaim is the number of a claim about the outcome of a reconciliation. The span of the reconciliation has
	// the first one. KeyTraceOutcome is the outcome of the whole trace from that claim on, if it changed. KeyWas is the
	// outcome by the first claim, on a reconciliation with a later one.
	KeyClaim        = attribute.Key("lifeline.claim")
	KeyTraceOutcome = attribute.Key("lifeline.trace.outcome")
	KeyWas          = attribute.Key("lifeline.was")
	// KeyAftermath is the number of a span in its series, and KeyAftermathSeries that of the series in the trace; see
	// Aftermath for the other ones.
	KeyAftermath                = attribute.Key("lifeline.aftermath")
	KeyAftermathSeries          = attribute.Key("lifeline.aftermath.series")
	KeyAftermathSince           = attribute.Key("lifeline.aftermath.since")
	KeyAftermathWindow          = attribute.Key("lifeline.aftermath.window")
	KeyAftermathOver            = attribute.Key("lifeline.aftermath.over")
	KeyAftermathRestarts        = attribute.Key("lifeline.aftermath.restarts")
	KeyAftermathOOMKills        = attribute.Key("lifeline.aftermath.oom_kills")
	KeyAftermathReadinessLosses = attribute.Key("lifeline.aftermath.readiness_losses")
	KeyAftermathEvictions       = attribute.Key("lifeline.aftermath.evictions")
	KeyAftermathFailedProbes    = attribute.Key("lifeline.aftermath.failed_probes")
	KeyAftermathExits           = attribute.Key("lifeline.aftermath.exits")
	KeyBeforeWindow             = attribute.Key("lifeline.aftermath.before.window")
	KeyBeforeRestarts           = attribute.Key("lifeline.aftermath.before.restarts")
	KeyBeforeOOMKills           = attribute.Key("lifeline.aftermath.before.oom_kills")
	KeyBeforeReadinessLosses    = attribute.Key("lifeline.aftermath.before.readiness_losses")
	KeyBeforeEvictions          = attribute.Key("lifeline.aftermath.before.evictions")
	KeyBeforeFailedProbes       = attribute.Key("lifeline.aftermath.before.failed_probes")
	KeyBeforeExits              = attribute.Key("lifeline.aftermath.before.exits")
	// KeyAuditMatch is how the request in the audit log was matched with the write.
	KeyAuditMatch = attribute.Key("lifeline.audit.match")
	// KeyConvention is the convention of the context on the object.
	KeyConvention = attribute.Key("lifeline.context.convention")
	// KeyExit is the exit code of a container.
	KeyExit = attribute.Key("lifeline.container.exit_code")
	// KeyEventCount is how often a Kubernetes Event occurred.
	KeyEventCount = attribute.Key("lifeline.event.count")
	KeyVerb       = attribute.Key("lifeline.write.verb")
	// KeyReason is the machine-readable reason. On a root, on an object that a command wrote, and on one
	// that waits below it, it is a category of package reason. The next keys say more: KeyReasonObject is
	// the object to blame, KeyReasonMessage the reason in a sentence, and KeyReasonSince the time of the first
	// version with it. KeyReasonBefore has the waits of the object before it, and KeyReasonNext a command that
	// shows more. KeyReasonCause is the category of another object, which the object to blame waits for.
	KeyReason        = attribute.Key("lifeline.reason")
	KeyReasonObject  = attribute.Key("lifeline.reason.object")
	KeyReasonMessage = attribute.Key("lifeline.reason.message")
	KeyReasonSince   = attribute.Key("lifeline.reason.since")
	KeyReasonBefore  = attribute.Key("lifeline.reason.before")
	KeyReasonNext    = attribute.Key("lifeline.reason.next")
	KeyReasonCause   = attribute.Key("lifeline.reason.cause")
	KeyMessage       = attribute.Key("lifeline.message")
	// KeyLink is a link's attribute for its reason.
	KeyLink = attribute.Key("lifeline.link")

	// KeyOriginTrace, KeyOriginSpan and KeyOriginParent are the original trace, span and parent IDs
	// of another component's span. They are set only where the current IDs differ.
	KeyOriginTrace  = attribute.Key("lifeline.origin.trace_id")
	KeyOriginSpan   = attribute.Key("lifeline.origin.span_id")
	KeyOriginParent = attribute.Key("lifeline.origin.parent_span_id")
	// KeyCorrection is the clock correction of a span in seconds. A span is corrected if the clock
	// of its host was proven wrong.
	KeyCorrection = attribute.Key("lifeline.clock.correction")

	KeyGroup       = attribute.Key("k8s.object.group")
	KeyVersion     = attribute.Key("k8s.object.version")
	KeyKind        = attribute.Key("k8s.object.kind")
	KeyNamespace   = attribute.Key("k8s.object.namespace")
	KeyName        = attribute.Key("k8s.object.name")
	KeyUID         = attribute.Key("k8s.object.uid")
	KeyGeneration  = attribute.Key("k8s.object.generation")
	KeyRV          = attribute.Key("k8s.object.resource_version")
	KeySubresource = attribute.Key("k8s.object.subresource")
	KeyAuditID     = attribute.Key("k8s.audit_id")
	KeyCondition   = attribute.Key("k8s.object.condition.type")
	KeyEventType   = attribute.Key("k8s.event.type")
	KeyVolumes     = attribute.Key("k8s.pod.volume.count")
	// KeyGrace is the grace period of a deletion, in seconds.
	KeyGrace      = attribute.Key("k8s.pod.deletion_grace_period_seconds")
	KeyPreStop    = attribute.Key("k8s.pod.pre_stop")
	KeyStatusCode = attribute.Key("http.response.status_code")
	KeyUserAgent  = attribute.Key("user_agent.original")

	KeyContainer = attribute.Key("k8s.container.name")
	KeyImage     = attribute.Key("container.image.name")
	KeyNode      = attribute.Key("k8s.node.name")
	KeyService   = attribute.Key("k8s.service.name")
	KeyVolume    = attribute.Key("k8s.persistentvolume.name")

	// The Node of a Pod. KeyRuntime and KeyRuntimeVersion are the two parts of the Node's container
	// runtime, around RuntimeSeparator.
	KeyRegion         = attribute.Key("cloud.region")
	KeyZone           = attribute.Key("cloud.availability_zone")
	KeyInstanceType   = attribute.Key("host.type")
	KeyRuntime        = attribute.Key("container.runtime.name")
	KeyRuntimeVersion = attribute.Key("container.runtime.version")
	KeyKubelet        = attribute.Key("lifeline.node.kubelet")
	KeyNodePool       = attribute.Key("lifeline.node.pool")

	// KeyScheduler is the scheduler of a Pod, if that is not default-scheduler. KeyStorageClasses has the storage
	// classes of its claims, each once.
	// KeyCPU and KeyMemory are the requests of its containers, without init containers: milli-CPUs and bytes.
	KeyScheduler      = attribute.Key("lifeline.pod.scheduler")
	KeyStorageClasses = attribute.Key("lifeline.pod.storage_classes")
	KeyCPU            = attribute.Key("lifeline.pod.requests.cpu")
	KeyMemory         = attribute.Key("lifeline.pod.requests.memory")
	// KeyReplicas is the desired number of a workload's Pods.
	KeyReplicas = attribute.Key("lifeline.replicas")
)

// RuntimeSeparator is between the name and the version of a Node's container runtime, as in
// "containerd://2.3.7".
const RuntimeSeparator = "://"

// Bound applies object.Bound to texts of spans.
func Bound(s string) string { return object.Bound(s) }
