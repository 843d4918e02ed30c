// SPDX-License-Identifier: Apache-2.0

import { computed } from '@preact/signals'
import { info } from '../api/info'
import { parameters, set } from '../app/router'
import { shortId } from './folding'

// The state of the view, all of it in the address:
//
//   where         the question: plain words, CEL, or both
//   range         the time of the strip, back from now; absent for a day
//   since, until  the part of it that the list shows; absent for all
//   at            the trace ID of the selected row
//   fold=off      no folded rows
//   open          the unfolded groups: for each, the first digits of the trace ID of one of its changes

export const ranges = [
  { name: '1h', title: '1 hour', seconds: 3600 },
  { name: '6h', title: '6 hours', seconds: 6 * 3600 },
  { name: '24h', title: '24 hours', seconds: 24 * 3600 },
  { name: '7d', title: '7 days', seconds: 7 * 24 * 3600 },
  { name: '30d', title: '30 days', seconds: 30 * 24 * 3600 },
] as const

// offered are the ranges that the server keeps, and the present one.
export const offered = computed(() => {
  const kept = info.value?.retention
  if (!kept) return [...ranges]
  const last = ranges.findIndex((r) => r.seconds >= kept)
  return ranges.filter((r, i) => last < 0 || i <= last || r === range.value)
})

export type Range = (typeof ranges)[number]

const usual = ranges[2]

export const where = computed(() => parameters.value.get('where') ?? '')
export const range = computed<Range>(() => ranges.find((r) => r.name === parameters.value.get('range')) ?? usual)
export const folding = computed(() => parameters.value.get('fold') !== 'off')
export const at = computed(() => parameters.value.get('at') ?? '')

// most bounds the open groups in the address.
const most = 100

const openText = computed(() => parameters.value.get('open') ?? '')

// unfolded names the open groups, each by one of its changes.
export const unfolded = computed<ReadonlySet<string>>(() => new Set(openText.value.split('.').filter((s) => s !== '')))

const sinceText = computed(() => parameters.value.get('since') ?? '')
const untilText = computed(() => parameters.value.get('until') ?? '')

// part is the brushed part of the strip, in milliseconds. It stays the same object while other parameters change.
export const part = computed(() => {
  const since = Date.parse(sinceText.value)
  const until = Date.parse(untilText.value)
  return since < until ? { since, until } : undefined
})

// Another list begins without a selected row and with all groups folded; "back" returns to both.
const none = { at: undefined, open: undefined }

export function setWhere(text: string): void {
  set({ where: text.trim(), ...none })
}

export function setRange(name: string): void {
  set({ range: name === usual.name ? undefined : name, since: undefined, until: undefined, ...none })
}

export function setPart(chosen: { since: number; until: number } | undefined, { replace = false } = {}): void {
  const text = (time: number) => new Date(time).toISOString()
  set({ since: chosen && text(chosen.since), until: chosen && text(chosen.until), ...none }, { replace })
}

export function setFolding(on: boolean): void {
  set({ fold: on ? undefined : 'off' }, { replace: true })
}

// setUnfolded opens or folds a group of changes, the newest first. Its newest change names it: the list keeps
// that one the longest.
export function setUnfolded(changes: readonly { traceId: string }[], open: boolean): void {
  const next = new Set(unfolded.peek())
  for (const s of changes) next.delete(shortId(s.traceId))
  if (open && changes[0]) next.add(shortId(changes[0].traceId))
  set({ open: [...next].slice(-most).join('.') }, { replace: true })
}

export function select(id: string): void {
  set({ at: id }, { replace: true })
}
