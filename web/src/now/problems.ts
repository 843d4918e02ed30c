// SPDX-License-Identifier: Apache-2.0

import { batch, signal } from '@preact/signals'
import { aborted, ApiError, get } from '../api/client'
import { stream } from '../api/stream'
import type { ProblemList } from '../api/types'

// The problems now. They stay when the view is left, so that "back" shows them at once.

// most is the number of problems of one answer.
export const most = 200
// Without a stream, the list is asked for again after this time.
const patience = 10_000
// The numbers of all namespaces are asked for again after this time.
const spacesPatience = 30_000

// Shown is an answer, with its question.
export interface Shown {
  namespace: string
  list: ProblemList
}

export const shown = signal<Shown | undefined>(undefined)
// live is true while a stream is connected.
export const live = signal(false)
// failure is the last error, if no answer came after it.
export const failure = signal<ApiError | undefined>(undefined)
// spaces has the number of problems of each namespace; below it, if the answer lacks some.
export const spaces = signal<ReadonlyMap<string, number>>(new Map())
export const atLeast = signal(false)

function count(list: ProblemList): void {
  const of = new Map<string, number>()
  for (const p of list.problems) for (const name of p.namespaces) if (name !== '') of.set(name, (of.get(name) ?? 0) + 1)
  batch(() => {
    spaces.value = of
    atLeast.value = !!list.more
  })
}

function take(namespace: string, list: ProblemList): void {
  // The zero time: the server has not looked yet.
  if (Date.parse(list.asOf) < 0) return
  batch(() => {
    shown.value = { namespace, list }
    failure.value = undefined
    if (namespace === '') count(list)
  })
}

function fail(err: unknown): void {
  if (aborted(err)) return
  const known = err instanceof ApiError ? err : new ApiError(0, 'The answer of the server did not arrive.')
  // The frame has a dialog for a missing token.
  if (known.status !== 401) failure.value = known
}

// follow keeps the list of a namespace up to date until the returned function is called.
export function follow(namespace: string): () => void {
  const control = new AbortController()
  const parameters = { namespace, limit: most }
  const timers: ReturnType<typeof setTimeout>[] = []

  const load = async () => {
    try {
      take(namespace, await get<ProblemList>('problems', parameters, control.signal))
    } catch (err) {
      fail(err)
    }
    later()
  }
  const later = () => {
    if (!control.signal.aborted) timers[0] = setTimeout(() => (live.peek() || document.hidden ? later() : void load()), patience)
  }
  const loadSpaces = async () => {
    try {
      if (!document.hidden) count(await get<ProblemList>('problems', { limit: most }, control.signal))
    } catch {
      // The list itself shows the error.
    }
    if (!control.signal.aborted) timers[1] = setTimeout(loadSpaces, spacesPatience)
  }
  void load()
  if (namespace !== '') void loadSpaces()
  const end = stream('problems/stream', parameters, {
    event(name, data) {
      if (name === 'problems') take(namespace, data as ProblemList)
    },
    connected: (on) => (live.value = on),
    refused: fail,
  })
  return () => {
    end()
    control.abort()
    for (const timer of timers) clearTimeout(timer)
    live.value = false
  }
}
