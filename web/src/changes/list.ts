// SPDX-License-Identifier: Apache-2.0

import { batch, computed, signal } from '@preact/signals'
import { aborted, ApiError, get } from '../api/client'
import { serverTime } from '../api/clock'
import { stream } from '../api/stream'
import type { Page, Summary } from '../api/types'
import { fold } from './folding'
import { translate } from './plain'
import { at, folding, part, range, unfolded, where } from './state'

// The changes of the list. They stay when the view is left, so that "back" shows them at once.

const first = 200
const further = 500
// A deep link selects a row within this many changes.
const deepest = 3000
// The pause between two questions after live updates.
const pause = 2500
// A page that is open for days begins its list again above this number.
const most = 20_000
// The number of open changes that are asked for beside the range; the live updates have all.
const mostOpen = 1000

// changes are the loaded ones, the latest start first.
export const changes = signal<Summary[]>([])
// more is the cursor of the next page; empty after the last one.
export const more = signal('')
export const loading = signal(false)
// loaded is true after the first answer to the present question.
export const loaded = signal(false)
// problem is an error of the question, which the box of the question shows.
export const problem = signal<ApiError | undefined>(undefined)
// failure is another error of the server. The rows then answer the question, but may be out of date; or there are none.
export const failure = signal<ApiError | undefined>(undefined)
export const incomplete = signal('')
// updated is the time of the last live update, in milliseconds.
export const updated = signal(0)

export const rows = computed(() => fold(changes.value, folding.value, unfolded.value))

export interface Question {
  // text is the question as one writes it. The server gets it as CEL, and its states.
  text: string
  where: string
  state: string
  since: string
  until: string | undefined
  key: string
}

// question is that of the address. Its key has no time that moves.
export const question = computed<Question>(() => {
  const brushed = part.value
  const asked = translate(where.value)
  return {
    text: where.value,
    where: asked.where,
    state: asked.states.join(','),
    since: brushed ? new Date(brushed.since).toISOString() : range.value.name,
    until: brushed && new Date(brushed.until).toISOString(),
    key: JSON.stringify([where.value, brushed ?? range.value.name]),
  }
})

const byId = new Map<string, Summary>()
// order has the IDs of the server's pages, in their order. With a question, that is the order of the latest matching
// lifecycles, which a summary does not have.
let order: string[] = []
let running: AbortController | undefined
// answered is the key of the question that the rows answer.
let answered = ''

// Updates have the last update of each change by its ID; undefined if it was withdrawn.
type Updates = Map<string, Summary | undefined>

// during has the updates since the begin of each request. Its answer may be older.
const during = new Set<Updates>()

function collect(): Updates {
  const updates: Updates = new Map()
  during.add(updates)
  return updates
}

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
    { where: of.where, state: of.state, since: of.since, until: of.until, limit, after },
    control?.signal,
  )
}

// askOpen asks for open changes whenever they began: one that is stuck for days belongs into the last hour, too.
// A brushed part has only those that began in it.
async function askOpen(of: Question, control = running): Promise<Page | undefined> {
  if (of.until !== undefined) return undefined
  return get<Page>('traces', { where: of.where, state: of.state, open: true, limit: mostOpen }, control?.signal)
}

// belongs reports whether an update that is not in the list belongs there. With a question, only the server can say so.
function belongs(s: Summary): boolean {
  if (where.peek() !== '') return false
  const start = Date.parse(s.start)
  const brushed = part.peek()
  if (brushed) return start >= brushed.since && start < brushed.until
  return s.open || start >= rangeStart()
}

function rangeStart(): number {
  return serverTime() - range.peek().seconds * 1000
}

// take applies updates. It reports whether the list has changed.
function take(updates: Updates): boolean {
  let changed = false
  for (const [id, s] of updates) {
    if (!s) changed = byId.delete(id) || changed
    else if (byId.has(id) || belongs(s)) {
      put(s)
      changed = true
    }
  }
  return changed
}

function forget(): void {
  byId.clear()
  order = []
  answered = ''
  more.value = ''
  incomplete.value = ''
  publish()
}

// fail shows an error, except for a missing token and the end of a request. The frame shows an absent server.
function fail(err: unknown): void {
  if (aborted(err)) return
  const shown = err instanceof ApiError ? err : new ApiError(0, 'The answer of the server did not arrive.')
  if (shown.status === 401) return
  const own = shown.status >= 400 && shown.status < 500 && shown.status !== 429
  problem.value = own ? shown : undefined
  failure.value = own ? undefined : shown
}

// load asks the question of the address, and forgets the answer to another one.
export async function load(): Promise<void> {
  const of = question.peek()
  running?.abort()
  const control = (running = new AbortController())
  const same = answered === of.key
  const updates = collect()
  batch(() => {
    failure.value = undefined
    if (same) return
    loading.value = true
    loaded.value = false
  })
  try {
    let page = await ask(of, same ? Math.min(10_000, Math.max(first, byId.size)) : first, '', control)
    const open = await askOpen(of, control)
    const all = [...page.traces]
    const wanted = at.peek()
    const has = (id: string) => [...all, ...(open?.traces ?? [])].some((s) => s.traceId === id)
    while (wanted && !wanted.startsWith('g-') && page.next && all.length < deepest && !has(wanted)) {
      page = await ask(of, further, page.next, control)
      all.push(...page.traces)
    }
    batch(() => {
      byId.clear()
      for (const s of [...all, ...(open?.traces ?? [])]) put(s)
      order = all.map((s) => s.traceId)
      answered = of.key
      more.value = page.next ?? ''
      incomplete.value = page.incomplete ?? ''
      problem.value = failure.value = undefined
      loaded.value = true
      take(updates)
      publish()
    })
    if (of.text !== '' && updates.size > 0) refreshSoon()
  } catch (err) {
    if (aborted(err)) return
    batch(() => {
      fail(err)
      // A wrong question keeps the list of the one before.
      if (problem.peek()) loaded.value = true
      else if (!same) forget()
    })
  } finally {
    during.delete(updates)
    if (running === control) {
      running = undefined
      loading.value = false
    }
  }
}

// loadMore adds the next page.
export async function loadMore(): Promise<void> {
  const of = question.peek()
  if (running || more.peek() === '' || failure.peek() || answered !== of.key) return
  const control = (running = new AbortController())
  const updates = collect()
  loading.value = true
  try {
    const page = await ask(of, further, more.peek(), control)
    batch(() => {
      for (const s of page.traces) put(s)
      order.push(...page.traces.map((s) => s.traceId))
      more.value = page.next ?? ''
      if (page.incomplete) incomplete.value = page.incomplete
      take(updates)
      publish()
    })
  } catch (err) {
    // The cursor of an answer before a restart may have ended; the next load begins again.
    if (err instanceof ApiError && err.status === 400) more.value = ''
    else fail(err)
  } finally {
    during.delete(updates)
    if (running === control) {
      running = undefined
      loading.value = false
    }
  }
}

// refresh asks for the newest changes again, and removes those that match no more.
async function refresh(): Promise<void> {
  const of = question.peek()
  if (answered !== of.key) return
  if (running) return refreshSoon()
  const updates = collect()
  try {
    const page = await ask(of, first, '', undefined)
    const open = await askOpen(of, undefined)
    if (answered !== of.key) return
    batch(() => {
      removeOthers(of, page, open, updates)
      for (const s of [...page.traces, ...(open?.traces ?? [])]) put(s)
      incomplete.value = page.incomplete ?? ''
      failure.value = undefined
      take(updates)
      publish()
    })
  } catch (err) {
    if (answered !== of.key) return
    if (err instanceof ApiError && err.status === 429) refreshSoon()
    else fail(err)
  } finally {
    during.delete(updates)
  }
}

// removeOthers removes the rows that a newer first page would have, and has not. Rows behind that page stay, as do
// those that were updated since it was asked for.
function removeOthers(of: Question, page: Page, open: Page | undefined, updates: Updates): void {
  const ids = page.traces.map((s) => s.traceId)
  const seen = new Set([...ids, ...(open?.traces ?? []).map((s) => s.traceId)])
  const places = new Map(order.map((id, i) => [id, i]))
  const end = places.get(ids.findLast((id) => places.has(id)) ?? '') ?? 0
  const oldest = page.traces.at(-1)?.start ?? ''
  const behind = (s: Summary) =>
    page.next && (of.where === '' ? compare(s.start, oldest) <= 0 : (places.get(s.traceId) ?? -1) >= end)
  for (const s of byId.values()) {
    if (seen.has(s.traceId) || updates.has(s.traceId)) continue
    if (s.open && open ? !open.next : !behind(s)) byId.delete(s.traceId)
  }
  order = page.next ? [...ids, ...order.slice(end).filter((id) => !seen.has(id))] : ids
}

let waiting: Updates = new Map()
let timer: ReturnType<typeof setTimeout> | undefined
let asking: ReturnType<typeof setTimeout> | undefined

function refreshSoon(): void {
  asking ??= setTimeout(() => {
    asking = undefined
    void refresh()
  }, pause)
}

// prune removes the ended changes from before the range. With a question, the range is that of the lifecycles.
function prune(): boolean {
  if (part.peek() || where.peek() !== '') return false
  const size = byId.size
  const begin = rangeStart()
  for (const s of byId.values()) if (!s.open && Date.parse(s.start) < begin) byId.delete(s.traceId)
  return byId.size < size
}

// applyUpdates puts the updates since the last time into the list at once.
function applyUpdates(): void {
  timer = undefined
  const news = waiting
  waiting = new Map()
  // A load has its own record of them.
  if (!loaded.peek()) return
  if (byId.size > most) {
    answered = ''
    byId.clear()
    void load()
    return
  }
  const taken = take(news)
  const changed = prune() || taken
  // Only the server can say whether a change matches a question.
  if (where.peek() !== '' && news.size > 0) refreshSoon()
  if (!changed) return
  batch(() => {
    updated.value = Date.now()
    publish()
  })
}

function receive(id: string, s: Summary | undefined): void {
  for (const updates of [waiting, ...during]) updates.set(id, s)
}

// follow applies live updates until the returned function is called.
export function follow(): () => void {
  // Its events are summary, amended, withdrawn, resync and synced.
  const end = stream(
    'watch',
    { view: 'summary' },
    {
      event(name, data) {
        if (name === 'summary' || name === 'amended') receive((data as Summary).traceId, data as Summary)
        else if (name === 'withdrawn') receive((data as { traceId: string }).traceId, undefined)
        else if (name === 'resync' || name === 'synced') refreshSoon()
        // Open changes that a resync does not repeat have ended.
        if (name === 'resync') void load()
        timer ??= setTimeout(applyUpdates, Math.max(100, byId.size / 20))
      },
    },
  )
  // The present states of objects change without an update of their changes.
  const states = setInterval(() => document.hidden || refreshSoon(), 15_000)
  return () => {
    end()
    clearInterval(states)
    clearTimeout(timer)
    clearTimeout(asking)
    timer = asking = undefined
  }
}
