// SPDX-License-Identifier: Apache-2.0

import { get } from '../api/client'
import type { Page, Summary } from '../api/types'
import type { Cause, Found, SpanDetail, Tree } from './types'

// Source has the data of one trace: a server, or the file that the page is in.
export interface Source {
  id: string
  // live is true if the trace may grow, and if a server can make downloads.
  live: boolean
  tree(signal?: AbortSignal): Promise<Tree>
  // expand returns the nodes of a key of the last tree.
  expand(key: string): Promise<Tree>
  span(id: string): Promise<SpanDetail>
  find(text: string, signal?: AbortSignal): Promise<Found>
  // causes returns the edges between this trace and others.
  causes(): Promise<Cause[]>
  // summaries returns those of other traces, at most mostSummaries. It leaves out unknown ones.
  summaries(traceIds: string[]): Promise<Summary[]>
}

// most is the number of matches that one can step through.
const most = 1000

// mostSummaries is the number of IDs that the server takes in one request.
export const mostSummaries = 31

export function served(id: string): Source {
  const at = `traces/${id}`
  return {
    id,
    live: true,
    tree: (signal) => get<Tree>(`${at}/tree`, {}, signal),
    expand: (key) => get<Tree>(`${at}/tree`, { expand: key }),
    span: (span) => get<SpanDetail>(`${at}/spans/${span}`),
    find: (text, signal) => get<Found>(`${at}/find`, { text, limit: most }, signal),
    causes: async () => (await get<{ causes: Cause[] }>(`${at}/causes`, { across: true })).causes,
    summaries: async (traces) => (await get<Page>('traces', { id: traces.join(',') })).traces,
  }
}
