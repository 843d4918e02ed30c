// SPDX-License-Identifier: Apache-2.0

import type { CausingChange, Ref } from '../api/types'
import { visible } from './text'

// most is the number of changed fields in a sentence.
const most = 2

const past: Record<string, string> = { create: 'created', delete: 'deleted' }

// named writes an object as namespace/name.
export function named(of: Ref): string {
  return [of.namespace, of.name].filter(Boolean).join('/')
}

// changed says who changed what: "kubectl changed Node node-2 (unschedulable <none> → true)". Without a
// known author: "Node node-2 was changed (…)". The changed fields take the place of `known`, which the reader has seen:
// "kubectl changed image web:1 → web:2".
export function changed(c: CausingChange, known?: Ref): string {
  const after = c.heals ? ` after the loss of ${c.heals}` : ''
  const by = c.who ? `${c.who}: ` : ''
  if (c.command) return visible(by + c.command + after)
  const did = past[c.verb ?? ''] ?? 'changed'
  const object = c.object ? `${c.object.kind} ${named(c.object)}` : 'the object'
  const list = edits(did, c.edits ?? [])
  if (c.who && list && c.object && known && c.object.kind === known.kind && named(c.object) === named(known)) {
    return visible(`${c.who} changed ${list}`)
  }
  const begin = c.who ? `${c.who} ${did} ${object}` : `${object} was ${did}`
  return visible(begin + (list && ` (${list})`) + after)
}

function edits(did: string, list: string[]): string {
  if (did !== 'changed' || list.length === 0) return ''
  const more = list.length > most ? ` and ${list.length - most} more` : ''
  return list.slice(0, most).join(', ') + more
}
