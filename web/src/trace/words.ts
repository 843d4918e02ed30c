// SPDX-License-Identifier: Apache-2.0

import type { Ref } from '../api/types'
import type { Evidence, TimeSource, TreeSpan } from './types'

// evidence says how the parent of a span is known.
export const evidence: Record<Evidence, string> = {
  annotation: 'by the trace context on the object',
  request: 'by the request that wrote it',
  identity: 'by the UID of the Pod, or the ID of its sandbox or container',
  owner: 'by the owner reference of the object',
  relation: 'by a relation of names, such as a claim and its StatefulSet',
  event: 'by a Kubernetes Event with a related object',
  time: 'by time alone; nothing else depends on it',
  unverified: 'without proof',
}

// sources says how a time is known.
export const sources: Record<TimeSource, string> = {
  request: 'exact: the request was seen',
  otlp: 'exact: a span of the component',
  audit: 'exact: the audit log',
  admission: 'exact: the admission of the request',
  event: 'exact: a Kubernetes Event',
  watch: 'at the latest: the arrival over the watch',
  object: 'to the second: a timestamp in the object',
}

// links says why a link is there.
const links: Record<string, string> = {
  annotation: 'a context on the object, from another trace',
  autoscaler: 'the last change of the autoscaler that scaled it',
  claim: 'the claim that it waits for',
  concurrent: 'another part of the same object, at the same time',
  config: 'the last change of a ConfigMap or Secret that it reads',
  delivery: 'the last revision of the tool that corrects a drift',
  event: 'a change of an object that an Event relates to this one',
  fight: 'the change of an opponent that this one overwrites',
  heals: 'what the cluster replaces here',
  healing: 'the change that heals it',
  joined: 'the same work, as another component recorded it',
  'limit-range': 'the change of a LimitRange that had refused it',
  owner: 'the last change of its owner',
  pod: 'the last trace of the Pod',
  previous: 'the change before this one, of the same object',
  quota: 'the change of the quota that had refused it',
  relation: 'the change of a related object',
  revision: 'the publication of the revision',
  server: "the API server's own record of the request",
  stale: 'an older context on the object',
  unverified: 'a context without a causal relation',
}

export function link(reason: string | undefined): string {
  return reason ? (links[reason] ?? reason.replaceAll('_', ' ')) : 'linked'
}

// objectName writes an object as Kind namespace/name.
export function objectName(of: Ref): string {
  return `${of.kind} ${of.namespace ? `${of.namespace}/` : ''}${of.name}`
}

// isReconciliation is true for the whole work on one object; other spans are its parts.
export function isReconciliation(s: TreeSpan): boolean {
  return !s.other && (s.name.startsWith('reconcile ') || s.name === 'run')
}

// nameOf returns the words of a row: an object for its reconciliation, and else the work.
export function nameOf(s: TreeSpan): { what: string; name: string } {
  if (!s.other && s.object && s.name.startsWith('reconcile ')) return { what: s.name.slice('reconcile '.length), name: s.object.name }
  return { what: s.label || s.name, name: '' }
}
