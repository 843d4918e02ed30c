// SPDX-License-Identifier: Apache-2.0

import { computed } from '@preact/signals'
import { parameters, set } from '../app/router'

// The state of the view, all of it in the address:
//
//   where         the question, in CEL
//   range         the time of the strip, back from now; absent for a day
//   since, until  the part of it that the list shows; absent for all
//   at            the trace ID of the selected row
//   fold=off      no folded rows

export const ranges = [
  { name: '1h', title: '1 hour', seconds: 3600 },
  { name: '6h', title: '6 hours', seconds: 6 * 3600 },
  { name: '24h', title: '24 hours', seconds: 24 * 3600 },
  { name: '7d', title: '7 days', seconds: 7 * 24 * 3600 },
  { name: '30d', title: '30 days', seconds: 30 * 24 * 3600 },
] as const

export type Range = (typeof ranges)[number]

const usual = ranges[2]

export const where = computed(() => parameters.value.get('where') ?? '')
export const range = computed<Range>(() => ranges.find((r) => r.name === parameters.value.get('range')) ?? usual)
export const folding = computed(() => parameters.value.get('fold') !== 'off')
export const at = computed(() => parameters.value.get('at') ?? '')

const sinceText = computed(() => parameters.value.get('since') ?? '')
const untilText = computed(() => parameters.value.get('until') ?? '')

// part is the brushed part of the strip, in milliseconds. It stays the same object while other parameters change.
export const part = computed(() => {
  const since = Date.parse(sinceText.value)
  const until = Date.parse(untilText.value)
  return since < until ? { since, until } : undefined
})

export function setWhere(text: string): void {
  set({ where: text.trim(), at: undefined })
}

export function setRange(name: string): void {
  set({ range: name === usual.name ? undefined : name, since: undefined, until: undefined, at: undefined })
}

export function setPart(chosen: { since: number; until: number } | undefined, { replace = false } = {}): void {
  const text = (time: number) => new Date(time).toISOString()
  set({ since: chosen && text(chosen.since), until: chosen && text(chosen.until), at: undefined }, { replace })
}

export function setFolding(on: boolean): void {
  set({ fold: on ? undefined : 'off' }, { replace: true })
}

export function select(id: string): void {
  set({ at: id }, { replace: true })
}
