// SPDX-License-Identifier: Apache-2.0

import { computed } from '@preact/signals'
import { parameters, set } from '../app/router'

// The state of the view, all of it in the address:
//
//   at        the selected row: a span ID, or the key of a group or of other components' spans
//   open      the keys of the unfolded ones among these
//   shut      the span IDs of the folded ones
//   from, to  the part of the time, in milliseconds after the first second; absent for all
//   find      the search
//   path=off  no critical path

type Name = 'at' | 'open' | 'shut' | 'from' | 'to' | 'find' | 'path'

const change = (changes: Partial<Record<Name, string>>) => set(changes, { replace: true })
const text = (name: Name) => computed(() => parameters.value.get(name) ?? '')
const list = (name: Name) => {
  const whole = text(name)
  return computed<ReadonlySet<string>>(() => new Set(whole.value.split('.').filter((s) => s !== '')))
}

export const at = text('at')
export const find = text('find')
export const open = list('open')
export const shut = list('shut')
const off = text('path')
export const critical = computed(() => off.value !== 'off')

const from = text('from')
const to = text('to')

// zoom is the chosen part of the time.
export const zoom = computed(() => {
  if (from.value === '' || to.value === '') return undefined
  const part = { from: Number(from.value), to: Number(to.value) }
  return part.from < part.to ? part : undefined
})

// most bounds the keys in the address. Further lists are unfolded, but a copied link does not have them.
const most = 200

const joined = (of: Iterable<string>) => [...of].slice(0, most).join('.')

export function select(id: string): void {
  change({ at: id })
}

export function setOpen(keys: Iterable<string>): void {
  change({ open: joined(keys) })
}

export function setShut(ids: Iterable<string>): void {
  const next = [...ids]
  change({ shut: next.length > most ? '' : next.join('.') })
}

// setZoom chooses a part of the time. With step, "back" returns to the present one.
export function setZoom(part: { from: number; to: number } | undefined, { step = false } = {}): void {
  const digits = (n: number) => String(Number(n.toFixed(6)))
  set({ from: part && digits(part.from), to: part && digits(part.to) }, { replace: !step })
}

export function setFind(words: string): void {
  change({ find: words })
}

export function setCritical(on: boolean): void {
  change({ path: on ? '' : 'off' })
}
