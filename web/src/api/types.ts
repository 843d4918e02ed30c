// SPDX-License-Identifier: Apache-2.0

import type { State } from '../text/states'

// The answers of the API, as in docs/api.md. Durations are seconds, times are RFC 3339.

export type Outcome = 'converged' | 'superseded' | 'deleted' | 'failed' | 'refused' | 'unfinished'

export interface Ref {
  group?: string
  version?: string
  kind: string
  namespace?: string
  name: string
  uid?: string
}

export interface Summary {
  traceId: string
  open: boolean
  stuck?: boolean
  state: State
  pinned?: boolean
  start: string
  // earliest is the earliest possible start, if start is only the latest possible one.
  earliest?: string
  duration: number
  outcome?: Outcome
  // was is the outcome before a later claim, and settledAt the time of that claim.
  was?: Outcome
  settledAt?: string
  reason?: string
  // aftermath is what happened to the Pods of a converged change afterwards. Its text is for after "since then".
  aftermath?: { text: string; converged: string; window: number; over: boolean; latest: string; restarts?: number }
  name?: string
  verb?: string
  object?: Ref
  command?: string
  actor?: string
  user?: string
  heals?: string
  fight?: string
  edits?: string[]
  category?: string
  slowest?: string
  slowestDuration?: number
  // work has kinds of work on the critical path, in the order of time.
  work?: { name: string; duration: number }[]
  current?: string
  currentDuration?: number
  // now is the present state of the object, where it differs from the outcome: its problem lasts (still), or began
  // after the change (since).
  now?: { state: 'still' | 'since'; problem: string; category: string; reason: string; since: string; before?: boolean; object: Ref }
  spans: number
  asOf: string
}

export interface Page {
  traces: Summary[]
  next?: string
  incomplete?: string
  since?: string
}

export interface Group {
  value: string
  count: number
  with: number
  quantiles?: number[]
}

export interface GroupPage {
  by?: string
  groups: Group[]
  more?: number
  incomplete?: string
  since?: string
}

export interface Field {
  name: string
  type: string
  optional: boolean
  meaning: string
  values?: string[]
  // facet is true if the most frequent values of a text complete a question.
  facet?: boolean
}

export interface Fields {
  fields: Field[]
}

export interface Bucket {
  count: number
  failed?: number
  open?: number
}

export interface Density {
  since: string
  width: number
  buckets: Bucket[]
  incomplete?: string
}

export interface Info {
  version: string
  cluster: string
  asOf: string
  watchingSince?: string
  // retention is the longest age of a finished change.
  retention?: number
  identity?: string
  mode?: string
  leading: boolean
  stats: {
    traces: number
    open: number
    spans: number
    writes: number
    bytes: number
    oldest?: string
    revision: number
  }
}

export interface LifecyclePage {
  next?: string
  incomplete?: string
  since?: string
}

// CausingChange is a change, as an answer names it.
export interface CausingChange {
  traceId?: string
  who?: string
  object?: Ref
  verb?: string
  fields?: string[]
  edits?: string[]
  command?: string
  heals?: string
  fight?: string
}

// Problem is one cause for which objects do not have their desired state.
export interface Problem {
  id: string
  category: string
  // reason is a sentence that begins with the object.
  reason: string
  since: string
  // before means that the problem is older than since.
  before?: boolean
  // note means that nothing is broken: a cordon.
  note?: boolean
  object: Ref
  // objects are some of those with the problem, and count is the number of all.
  objects: Ref[]
  count: number
  namespaces: string[]
  blamed?: Ref
  image?: string
  earlier?: { category: string; reason: string; since: string }[]
  cause?: CausingChange & { start: string }
  next?: string
}

export interface ProblemList {
  asOf: string
  problems: Problem[]
  more?: number
}
