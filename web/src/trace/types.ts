// SPDX-License-Identifier: Apache-2.0

import type { State } from '../text/states'
import type { CausingChange, Outcome, Ref, Summary } from '../api/types'

// The answers of the API about one trace, as in docs/api.md.

export type Evidence = 'annotation' | 'request' | 'identity' | 'owner' | 'relation' | 'event' | 'time' | 'unverified'
export type TimeSource = 'request' | 'otlp' | 'audit' | 'admission' | 'event' | 'watch' | 'object'

export interface TreeSpan {
  spanId: string
  name: string
  label: string
  service?: string
  object?: Ref
  start: string
  end?: string
  startSource?: TimeSource
  endSource?: TimeSource
  outcome?: Outcome
  evidence?: Evidence
  failed?: boolean
  message?: string
  other?: boolean
}

export interface TreeGroup {
  key: string
  label: string
  kind?: string
  outcome?: Outcome
  reason?: string
  failed?: boolean
  phases?: string[]
  images?: string[]
  count: number
  open?: number
  start: string
  end: string
  min: number
  p50: number
  p90: number
  p99: number
  max: number
  outliers?: TreeSpan[]
}

export interface TreeNode {
  span?: TreeSpan
  group?: TreeGroup
  spans: number
  others?: number
  othersKey?: string
  children?: TreeNode[]
  more?: number
}

export interface Segment {
  spanId: string
  // group is the key of the group that hides the span.
  group?: string
  start: string
  end: string
}

export interface Tree {
  summary?: Summary
  why?: Why
  path?: Segment[]
  asOf: string
  spans: number
  others?: number
  othersKey?: string
  nodes: TreeNode[]
  more?: number
}

export interface Attribute {
  key: string
  value: string | number | boolean | (string | number | boolean)[] | null
}

export interface SpanEvent {
  time: string
  name: string
  attributes?: Attribute[]
}

export interface FieldChange {
  path: string
  operation: 'add' | 'remove' | 'replace'
  from?: string
  to?: string
}

export interface Write {
  object: Ref
  verb?: string
  part?: string
  subresource?: string
  resourceVersion?: number
  actor?: string
  user?: string
  start: string
  end: string
  source?: TimeSource
  changes?: FieldChange[]
  moreChanges?: number
}

export interface Step {
  span: TreeSpan
  key: string
}

export interface SpanDetail {
  asOf: string
  span: TreeSpan
  way: Step[]
  // scheduling says why no node fits a Pod, or which one was chosen.
  scheduling?: string
  // nodes are changes of nodes that did not fit. A file has none.
  nodes?: NodeChange[]
  attributes: Attribute[]
  resource?: Attribute[]
  events?: SpanEvent[]
  droppedEvents?: number
  links?: { traceId: string; spanId: string; reason?: string; evidence?: Evidence }[]
  writes?: Write[]
}

export interface NodeChange {
  node: string
  what: 'cordoned' | 'tainted' | 'relabelled'
  // text says what happened to the node, without a full stop.
  text: string
  at: string
  cause: CausingChange
}

export interface Found {
  asOf: string
  count: number
  spans: TreeSpan[]
}

export interface Cause {
  traceId: string
  spanId: string
  ofTrace: string
  ofSpan: string
  parent: boolean
  evidence?: Evidence
  reason?: string
}

export interface Why {
  object: Ref
  state: State
  category?: string
  reason?: string
  start: string
  end?: string
  since?: string
  before?: string[]
  next?: string
  slowest?: string
  share?: number
  cause: CausingChange
  later?: boolean
  text: string
}
