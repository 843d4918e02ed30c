// SPDX-License-Identifier: Apache-2.0

package span

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// SchemaURL names the version of Lifeline's span names and attributes.
const SchemaURL = lifeline.SchemaURL

// Attribute keys of Lifeline's own. k8s.* and container.* keys of
// OpenTelemetry's semantic conventions stand beside them.
const (
	KeyOutcome      = attribute.Key("lifeline.outcome")
	KeyEvidence     = attribute.Key("lifeline.evidence")
	KeyTimeStart    = attribute.Key("lifeline.time.source.start")
	KeyTimeEnd      = attribute.Key("lifeline.time.source")
	KeyActorUser    = attribute.Key("lifeline.actor.user")
	KeyActor        = attribute.Key("lifeline.actor.component")
	KeyCriticalPath = attribute.Key("lifeline.critical_path")
	KeyCommand      = attribute.Key("lifeline.run.command")
	KeyExitCode     = attribute.Key("lifeline.run.exit_code")
	KeyHeals        = attribute.Key("lifeline.heals")
	KeyAttempt      = attribute.Key("lifeline.attempt")
	KeyPart         = attribute.Key("lifeline.write.part")
	KeyVerb         = attribute.Key("lifeline.write.verb")
	KeyReason       = attribute.Key("lifeline.reason")
	KeyMessage      = attribute.Key("lifeline.message")

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
	KeyStatusCode  = attribute.Key("http.response.status_code")
	KeyUserAgent   = attribute.Key("user_agent.original")

	KeyContainer = attribute.Key("k8s.container.name")
	KeyImage     = attribute.Key("container.image.name")
	KeyNode      = attribute.Key("k8s.node.name")
)

// EventWrite is the name of the span event that records one stored write.
const EventWrite = "write"

// Bound is object.Bound, for texts of spans.
func Bound(s string) string { return object.Bound(s) }
