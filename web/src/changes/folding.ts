// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'
import { action, who } from '../text/summary'

// Row is one row of the list: a change, or several neighbours that are alike.
export type Row =
  | { kind: 'change'; id: string; change: Summary; of: Group | undefined }
  | { kind: 'group'; id: string; group: Group }

// Group are neighbours that are alike, the newest first. Its id is that of its oldest change, which
// stays while newer ones come.
export interface Group {
  id: string
  changes: Summary[]
  open: boolean
}

// least is the number of changes in a group. Two rows are as easy to read as one.
const least = 3

function likeness(s: Summary): string {
  const { name, by } = who(s)
  return [name, by, action(s), s.object?.group, s.object?.namespace, s.state, s.was, s.now?.problem, s.aftermath && s.traceId, s.heals, s.command].join('\u0000')
}

// shortId returns the digits of a trace ID that name it in the address.
export const shortId = (traceId: string) => traceId.slice(0, 8)

// fold returns the rows of changes. `unfolded` has the short ID of one change of each open group.
export function fold(changes: Summary[], on: boolean, unfolded: ReadonlySet<string>): Row[] {
  const rows: Row[] = []
  const plain = (s: Summary, of?: Group) => rows.push({ kind: 'change', id: s.traceId, change: s, of })
  if (!on) {
    for (const s of changes) plain(s)
    return rows
  }
  for (let i = 0; i < changes.length; ) {
    const like = likeness(changes[i]!)
    let end = i + 1
    while (end < changes.length && likeness(changes[end]!) === like) end++
    const run = changes.slice(i, end)
    i = end
    if (run.length < least) {
      for (const s of run) plain(s)
      continue
    }
    const group: Group = {
      id: `g-${run[run.length - 1]!.traceId}`,
      changes: run,
      open: unfolded.size > 0 && run.some((s) => unfolded.has(shortId(s.traceId))),
    }
    rows.push({ kind: 'group', id: group.id, group })
    if (group.open) for (const s of run) plain(s, group)
  }
  return rows
}
