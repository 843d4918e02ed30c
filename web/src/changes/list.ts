// SPDX-License-Identifier: Apache-2.0

import { batch, computed, signal } from '@preact/signals'
import { aborted, ApiError, get } from '../api/client'
import { serverTime } from '../api/clock'
import { watch } from '../api/stream'
import type { Page, Summary } from '../api/types'
import { fold } from './folding'
import { at, folding, part, range, where } from './state'

// The changes of the list. They stay when the view is left, so that "back" shows them at once.

const first = 200
const further = 500
// A deep link selects a row within this many changes.
const deepest = 3000
// The pause between two questions after live updates.
const pause = 2500
// A page that is open for days begins its list again above this number.
const most = 20_000

// changes are the loaded ones, the latest start first.
export const changes = signal<Summary[]>([])
// more is the cursor of the next page; empty after the last one.
export const more = signal('')
export const loading = signal(false)
// loaded is true after the first answer to the present question.
export const loaded = signal(false)
export const problem = signal<ApiError | undefined>(undefined)
export const incomplete = signal('')
// unfolded has the IDs of changes whose groups are open.
export const unfolded = signal<ReadonlySet<string>>(new Set())
// updated is the time of the last live update, in milliseconds.
export const updated = signal(0)

export const rows = computed(() => fold(changes.value, folding.value, unfolded.value))

export interface Question {
  where: string
  since: string
  until: string | undefined
  key: string
}

// question is that of the address. Its key has no time that moves.
export const question = computed<Question>(() => {
  const brushed = part.value
  return {
    where: where.value,
    since: brushed ? new Date(brushed.since).toISOString() : range.value.name,
    until: brushed && new Date(brushed.until).toISOString(),
    key: JSON.stringify([where.value, brushed ?? range.value.name]),
  }
})

const byId = new Map<string, Summary>()
let running: AbortController | undefined
let answered = ''

// compare orders two times of the API, which have up to nine digits of a second: more than Date has.
function compare(a: string, b: string): number {
  const x = a.slice(0, -1)
  const y = b.slice(0, -1)
  return x < y ? -1 : x > y ? 1 : 0
}

function before(a: Summary, b: Summary): number {
  return compare(b.start, a.start) || (a.traceId < b.traceId ? 1 : -1)
}

function publish(): void {
  changes.value = [...byId.values()].sort(before)
}

// put adds a change, or a newer version of one. An open version never replaces the end.
function put(s: Summary): void {
  const old = byId.get(s.traceId)
  if (old && (compare(s.asOf, old.asOf) < 0 || (s.open && !old.open))) return
  byId.set(s.traceId, s)
}

function ask(of: Question, limit: number, after = '', control = running): Promise<Page> {
  return get<Page>(
    'traces',
    { where: of.where, since: of.since, until: of.until, limit, after },
    control?.signal,
  )
}

// load asks the question of the address, and forgets the answer to another one.
export async function load(): Promise<void> {
  const of = question.peek()
  running?.abort()
  const control = (running = new AbortController())
  const same = answered === of.key
  if (!same) {
    batch(() => {
      loading.value = true
      loaded.value = false
    })
  }
  try {
    let page = await ask(of, same ? Math.min(10_000, Math.max(first, byId.size)) : first, '', control)
    const all = [...page.traces]
    const wanted = at.peek()
    while (wanted && !wanted.startsWith('g-') && page.next && all.length < deepest && !all.some((s) => s.traceId === wanted)) {
      page = await ask(of, further, page.next, control)
      all.push(...page.traces)
    }
    batch(() => {
      byId.clear()
      for (const s of all) put(s)
      answered = of.key
      more.value = page.next ?? ''
      incomplete.value = page.incomplete ?? ''
      problem.value = undefined
      loaded.value = true
      publish()
    })
  } catch (err) {
    if (aborted(err)) return
    if (err instanceof ApiError && err.status !== 401 && err.status < 500) {
      problem.value = err
      loaded.value = true
    }
  } finally {
    if (running === control) {
      running = undefined
      loading.value = false
    }
  }
}

// loadMore adds the next page.
export async function loadMore(): Promise<void> {
  if (loading.peek() || running || more.peek() === '') return
  const control = (running = new AbortController())
  loading.value = true
  try {
    const page = await ask(question.peek(), further, more.peek(), control)
    batch(() => {
      for (const s of page.traces) put(s)
      more.value = page.next ?? ''
      if (page.incomplete) incomplete.value = page.incomplete
      publish()
    })
  } catch (err) {
    // The cursor of an answer before a restart may have ended; the next load begins again.
    if (err instanceof ApiError && err.status < 500) more.value = ''
  } finally {
    if (running === control) running = undefined
    loading.value = false
  }
}

// refresh asks for the newest changes again, and removes those that match no more.
async function refresh(): Promise<void> {
  const of = question.peek()
  if (running || answered !== of.key) return
  try {
    const page = await ask(of, first, '', undefined)
    if (answered !== of.key) return
    const seen = new Set(page.traces.map((s) => s.traceId))
    const oldest = page.traces.at(-1)?.start ?? ''
    for (const s of byId.values()) {
      if (!seen.has(s.traceId) && (!page.next || compare(s.start, oldest) > 0)) byId.delete(s.traceId)
    }
    for (const s of page.traces) put(s)
    incomplete.value = page.incomplete ?? ''
    publish()
  } catch {
    // The frame shows an absent server, and the next update asks again.
  }
}

let waiting: Summary[] = []
let withdrawn: string[] = []
let timer: ReturnType<typeof setTimeout> | undefined
let asking: ReturnType<typeof setTimeout> | undefined

function refreshSoon(): void {
  asking ??= setTimeout(() => {
    asking = undefined
    void refresh()
  }, pause)
}

// prune removes the ended changes from before a time.
function prune(before: number): boolean {
  const size = byId.size
  for (const s of byId.values()) if (!s.open && Date.parse(s.start) < before) byId.delete(s.traceId)
  return byId.size < size
}

// applyUpdates puts the updates since the last time into the list at once.
function applyUpdates(): void {
  timer = undefined
  const news = waiting
  const gone = withdrawn
  waiting = []
  withdrawn = []
  if (!loaded.peek()) return
  const of = question.peek()
  const bounded = part.peek()
  let changed = false
  if (byId.size > most) {
    answered = ''
    byId.clear()
    void load()
    return
  }
  for (const id of gone) changed = byId.delete(id) || changed
  if (!bounded) changed = prune(serverTime() - range.peek().seconds * 1000) || changed
  for (const s of news) {
    const start = Date.parse(s.start)
    const inside = !bounded || (start >= bounded.since && start < bounded.until)
    if (byId.has(s.traceId) || (of.where === '' && inside)) {
      put(s)
      changed = true
    }
  }
  // Only the server can say whether a change matches a question.
  if (of.where !== '' && (news.length > 0 || gone.length > 0)) refreshSoon()
  if (!changed) return
  batch(() => {
    updated.value = Date.now()
    publish()
  })
}

// follow applies live updates until the returned function is called.
export function follow(): () => void {
  const end = watch(
    { view: 'summary' },
    {
      event(name, data) {
        if (name === 'summary') waiting.push(data as Summary)
        else if (name === 'withdrawn') withdrawn.push((data as { traceId: string }).traceId)
        else if (name === 'resync' || name === 'synced') refreshSoon()
        // Open changes that a resync does not repeat have ended.
        if (name === 'resync') void load()
        timer ??= setTimeout(applyUpdates, Math.max(100, byId.size / 20))
      },
    },
  )
  return () => {
    end()
    clearTimeout(timer)
    clearTimeout(asking)
    timer = asking = undefined
  }
}
