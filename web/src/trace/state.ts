// SPDX-License-Identifier: Apache-2.0

import { computed, effect, signal } from '@preact/signals'
import { parameters, path, set } from '../app/router'

// The state of the view, all of it in the address:
//
//   at        the selected row: a span ID, or the key of a group or of other components' spans
//   open      the keys of the unfolded ones among these
//   shut      the span IDs of the folded ones
//   from, to  the part of the time, in milliseconds after the first second; absent for all
//   find      the search
//   path=off  no critical path
//
// The address follows a moment later, since browsers limit its changes.

const names = ['at', 'open', 'shut', 'from', 'to', 'find', 'path'] as const
type Name = (typeof names)[number]

const delay = 150

const local = signal<Partial<Record<Name, string>>>({})
let pending: Partial<Record<Name, string>> = {}
let here = ''
let timer: ReturnType<typeof setTimeout> | undefined

effect(() => {
  const given = parameters.value
  if (path.value !== here) {
    here = path.value
    pending = {}
    clearTimeout(timer)
  }
  const next: Partial<Record<Name, string>> = {}
  for (const name of names) next[name] = pending[name] ?? given.get(name) ?? ''
  local.value = next
})

// flush writes the address now.
export function flush(): void {
  clearTimeout(timer)
  const changes = pending
  pending = {}
  if (Object.keys(changes).length > 0) set(changes, { replace: true })
}

function change(changes: Partial<Record<Name, string>>): void {
  local.value = { ...local.peek(), ...changes }
  pending = { ...pending, ...changes }
  clearTimeout(timer)
  timer = setTimeout(flush, delay)
}

const text = (name: Name) => computed(() => local.value[name] ?? '')
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
  if (step) {
    flush()
    set({ from: part && digits(part.from), to: part && digits(part.to) })
    return
  }
  change({ from: part ? digits(part.from) : '', to: part ? digits(part.to) : '' })
}

export function setFind(words: string): void {
  change({ find: words })
}

export function setCritical(on: boolean): void {
  change({ path: on ? '' : 'off' })
}
