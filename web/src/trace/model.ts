// SPDX-License-Identifier: Apache-2.0

import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { aborted, ApiError } from '../api/client'
import { path as place } from '../app/router'
import { offset, second } from './clock'
import type { Source } from './source'
import * as state from './state'
import type { Found, SpanDetail, Tree, TreeGroup, TreeNode, TreeSpan } from './types'

// Item is a span or a group of alike siblings, with its times in milliseconds after the base.
export interface Item {
  // id is the ID of the span, or the key of the group.
  id: string
  span?: TreeSpan
  group?: TreeGroup
  start: number
  // end is that of the answer for an open one.
  end: number
  open: boolean
  spans: number
  others: number
  // children is the list of shown children, and under that of other components' spans; '' without.
  children: string
  under: string
  up: Item | undefined
}

// Chunk is a loaded part of a list, from an index on.
interface Chunk {
  from: number
  items: Item[]
}

// List is the children of a span that one key names, of which some are loaded.
interface List {
  key: string
  total: number
  chunks: Chunk[]
}

// Row is one line of the waterfall.
export type Row =
  | { kind: 'span' | 'group'; id: string; item: Item; depth: number; foldable: boolean; unfolded: boolean }
  | { kind: 'others'; id: string; count: number; depth: number; unfolded: boolean; up: Item | undefined }
  | { kind: 'gap'; id: string; list: string; from: number; count: number; depth: number; up: Item | undefined }

const top = 'c0000000000000000'
// pageLength is the number of nodes of an answer for a key.
const pageLength = 200
// mostRows bounds "unfold all".
const mostRows = 12_000
// pause is the time between two answers of a trace that grows.
const pause = 1000

const base = (key: string) => key.split(':', 1)[0]!
const first = (key: string) => Number(key.split(':')[1] ?? 0)

// keyOf is the key that unfolds a row; '' for a span with its children at hand.
function keyOf(row: Row): string {
  if (row.kind === 'group' || row.kind === 'others') return row.id
  return row.kind === 'span' && row.item.span?.other && row.item.children === '' ? row.item.under : ''
}

export interface Model {
  source: Source
  // tree is that of the last answer; none before the first, and without such a trace.
  tree: ReadonlySignal<Tree | undefined>
  // problem is why the last answers are missing. Those before them stay.
  problem: ReadonlySignal<ApiError | undefined>
  // base is the whole second of the start, in milliseconds since 1970.
  base: ReadonlySignal<number>
  // extent is the time of all spans.
  extent: ReadonlySignal<{ from: number; to: number }>
  // asked is the time of the page at the last answer.
  asked: ReadonlySignal<number>
  // path has the parts of the critical path, by span and by the group that hides it.
  path: ReadonlySignal<Map<string, { from: number; to: number }[]>>
  rows: ReadonlySignal<Row[]>
  index: ReadonlySignal<Map<string, number>>
  found: ReadonlySignal<Found | undefined>
  matches: ReadonlySignal<ReadonlySet<string>>
  loading: ReadonlySignal<ReadonlySet<string>>
  // item returns a loaded span or group, and children the loaded children of a span, also of a folded one.
  item(id: string): Item | undefined
  children(id: string): Item[]
  load(): void
  // retry is load after an error, without the words of the error.
  retry(): void
  changed(): void
  toggle(row: Row, unfold?: boolean): void
  unfoldAll(): Promise<void>
  foldAll(): void
  loadGap(row: Row): void
  // reveal unfolds and loads all above a span. It returns false without such a span.
  reveal(id: string): Promise<boolean>
  search(text: string): void
  end(): void
}

export function modelOf(source: Source): Model {
  const tree = signal<Tree | undefined>(undefined)
  const problem = signal<ApiError | undefined>(undefined)
  const lists: Signal<ReadonlyMap<string, List>> = signal(new Map())
  const opened: Signal<ReadonlySet<string>> = signal(new Set(state.open.peek()))
  const loading: Signal<ReadonlySet<string>> = signal(new Set())
  const zero = signal(0)
  const asked = signal(Date.now())
  const found = signal<Found | undefined>(undefined)
  const control = new AbortController()
  let searching = new AbortController()
  let ended = false
  // left is true if another view has the address. Work that ends late then must not write into it.
  const here = place.peek()
  const left = () => ended || place.peek() !== here

  // take adds the nodes of an answer, and those below, to lists.
  const take = (into: Map<string, List>, key: string, nodes: TreeNode[], more: number, up: Item | undefined): void => {
    const at = zero.peek()
    const items = nodes.map((n): Item => {
      const of = n.span ?? n.group!
      const start = offset(of.start, at)
      const item: Item = {
        id: n.span?.spanId ?? n.group!.key,
        start,
        end: Math.max(start, offset(of.end ?? tree.peek()?.asOf ?? of.start, at)),
        open: n.span ? n.span.end === undefined : (n.group?.open ?? 0) > 0,
        spans: n.spans,
        others: n.others ?? 0,
        children: '',
        under: n.othersKey ?? '',
        up,
      }
      if (n.span) item.span = n.span
      if (n.group) item.group = n.group
      if (n.group) item.children = n.group.key
      else if (n.children?.length || n.more) {
        item.children = `c${n.span!.spanId}`
        into.delete(item.children)
        take(into, item.children, n.children ?? [], n.more ?? 0, item)
      }
      return item
    })
    const from = first(key)
    const name = base(key)
    const old = into.get(name)
    const chunks = old ? [...old.chunks] : []
    chunks.push({ from, items })
    chunks.sort((a, b) => a.from - b.from)
    // Overlaps belong to the earlier chunk.
    for (let i = 1; i < chunks.length; i++) {
      const before = chunks[i - 1]!
      const over = before.from + before.items.length - chunks[i]!.from
      if (over > 0) chunks[i] = { from: chunks[i]!.from + over, items: chunks[i]!.items.slice(over) }
    }
    into.set(name, { key: name, total: from + nodes.length + more, chunks: chunks.filter((c) => c.items.length > 0 || chunks.length === 1) })
  }

  const parentOf = (name: string): Item | undefined => {
    for (const l of lists.peek().values()) {
      for (const c of l.chunks) for (const i of c.items) if (i.children === name || i.under === name) return i
    }
    return undefined
  }

  // fail keeps an error for the view. The frame reports a missing token.
  const fail = (err: unknown): void => {
    if (err === undefined || aborted(err) || left() || (err instanceof ApiError && err.status === 401)) return
    problem.value = err instanceof ApiError ? err : new ApiError(0, `The server did not answer: ${err instanceof Error ? err.message : String(err)}`)
  }

  // added are the keys that fetchKeys has loaded since the last load began.
  const added = new Set<string>()

  // wanted returns the keys of the pages that the rows need: of unfolded lists, further pages of other lists, and
  // those in added.
  const wanted = (): Set<string> => {
    const out = new Set(added)
    for (const key of opened.peek()) {
      const known = lists.peek().get(key)?.chunks ?? [{ from: 0 }]
      for (const { from } of known) out.add(from > 0 ? `${key}:${from}` : key)
    }
    for (const [key, list] of lists.peek()) {
      if (key[0] !== 'c') continue
      for (const { from } of list.chunks) if (from > 0) out.add(`${key}:${from}`)
    }
    return out
  }

  // fetchKeys loads pages, and shows them together: each time, all rows are made anew.
  const fetchKeys = async (keys: string[]): Promise<void> => {
    const wanting = keys.filter((key) => !loading.peek().has(key))
    if (wanting.length === 0 || left()) return
    loading.value = new Set([...loading.peek(), ...wanting])
    const pages = await Promise.allSettled(wanting.map((key) => source.expand(key)))
    batch(() => {
      const rest = new Set(loading.peek())
      for (const key of wanting) rest.delete(key)
      loading.value = rest
      if (left()) return
      const next = new Map(lists.peek())
      pages.forEach((page, i) => {
        const key = wanting[i]!
        if (page.status === 'fulfilled') {
          take(next, key, page.value.nodes, page.value.more ?? 0, parentOf(base(key)))
          added.add(key)
          return
        }
        const err: unknown = page.reason
        if (err instanceof ApiError && err.status === 410) load()
        else if (err instanceof ApiError && err.status === 400) drop(base(key))
        else fail(err)
      })
      lists.value = next
    })
  }

  const drop = (key: string): void => {
    const next = new Set(opened.peek())
    next.delete(key)
    setOpened(next)
  }
  const setOpened = (keys: Set<string>): void => {
    if (left()) return
    opened.value = keys
    state.setOpen(keys)
  }

  // load asks for the tree and its unfolded lists. A further load begins after the present one: if it ended the
  // present one, a trace with constant changes would never be shown.
  let busy = false
  let again = false
  const load = (): void => {
    again = busy
    if (busy) return
    busy = true
    const end = () => {
      busy = false
      if (again && !left()) changed()
    }
    loadOnce().then(end, (err: unknown) => {
      if (err instanceof ApiError && err.status === 404) tree.value = undefined
      fail(err)
      end()
    })
  }

  const retry = (): void => {
    problem.value = undefined
    load()
  }

  const loadOnce = async (): Promise<void> => {
    added.clear()
    const answer = await source.tree(control.signal)
    if (left()) return
    const next = new Map<string, List>()
    const starts = [answer.summary?.start, answer.nodes[0]?.span?.start, answer.nodes[0]?.group?.start].filter((t) => t !== undefined)
    if (starts[0] && zero.peek() === 0) zero.value = second(starts[0])
    tree.value = answer
    take(next, top, answer.nodes, answer.more ?? 0, undefined)
    // Lists below others come after these. A list that is unfolded meanwhile comes in a further round.
    const had = new Set<string>()
    let failed: unknown
    for (let round = 0; round < 12; round++) {
      const parents = new Map<string, Item | undefined>([[top, undefined], [answer.othersKey ?? '', undefined]])
      for (const l of next.values()) for (const c of l.chunks) for (const i of c.items) parents.set(i.children, i).set(i.under, i)
      const now = [...wanted()].filter((key) => !had.has(key) && parents.has(base(key)))
      if (now.length === 0) break
      const pages = await Promise.all(
        now.map(async (key) => {
          had.add(key)
          try {
            return { key, page: await source.expand(key) }
          } catch (err) {
            // The trace may have changed since.
            if (err instanceof ApiError && err.status === 410) again ||= answer.summary?.open === true
            else if (!(err instanceof ApiError && err.status === 400)) failed = err
            return { key }
          }
        }),
      )
      if (left()) return
      for (const one of pages) if (one.page) take(next, one.key, one.page.nodes, one.page.more ?? 0, parents.get(base(one.key)))
      // Without an answer, a list stays as it was.
      for (const one of pages) {
        const old = lists.peek().get(base(one.key))
        if (!one.page && old && failed && !next.has(old.key)) next.set(old.key, old)
      }
    }
    if (left()) return
    batch(() => {
      lists.value = next
      asked.value = Date.now()
      problem.value = undefined
      fail(failed)
    })
  }

  const rows = computed(() => {
    const out: Row[] = []
    const all = lists.value
    const shut = state.shut.value
    const unfolded = opened.value
    const t = tree.value
    const walk = (list: List | undefined, depth: number, up: Item | undefined): void => {
      if (!list) return
      let next = 0
      const gap = (to: number) => {
        if (to > next) out.push({ kind: 'gap', id: `${list.key}:${next}`, list: list.key, from: next, count: to - next, depth, up })
      }
      for (const chunk of list.chunks) {
        gap(chunk.from)
        next = chunk.from + chunk.items.length
        for (const item of chunk.items) {
          if (item.group) {
            const on = unfolded.has(item.children)
            out.push({ kind: 'group', id: item.id, item, depth, foldable: true, unfolded: on })
            if (on) walk(all.get(item.children), depth + 1, item)
            continue
          }
          // Below a span of another component, its further spans need no row of their own.
          if (item.span?.other && item.others > 0 && item.children === '') {
            const on = unfolded.has(item.under)
            out.push({ kind: 'span', id: item.id, item, depth, foldable: true, unfolded: on })
            if (on) walk(all.get(item.under), depth + 1, item)
            continue
          }
          const foldable = item.children !== '' || item.others > 0
          const on = foldable && !shut.has(item.id)
          out.push({ kind: 'span', id: item.id, item, depth, foldable, unfolded: on })
          if (!on) continue
          if (item.children) walk(all.get(item.children), depth + 1, item)
          if (item.others > 0) others(item.under, item.others, depth + 1, item)
        }
      }
      gap(list.total)
    }
    const others = (key: string, count: number, depth: number, up: Item | undefined) => {
      const on = unfolded.has(key)
      out.push({ kind: 'others', id: key, count, depth, unfolded: on, up })
      if (on) walk(all.get(key), depth + 1, up)
    }
    walk(all.get(top), 0, undefined)
    if (t?.othersKey) others(t.othersKey, t.others ?? 0, 0, undefined)
    return out
  })

  const index = computed(() => new Map(rows.value.map((r, i) => [r.id, i])))

  const extent = computed(() => {
    let from = Infinity
    let to = -Infinity
    for (const l of lists.value.values()) {
      for (const c of l.chunks) {
        for (const i of c.items) {
          if (i.start < from) from = i.start
          if (i.end > to) to = i.end
        }
      }
    }
    if (!(from <= to)) return { from: 0, to: 1 }
    return { from, to: Math.max(to, from + 0.001) }
  })

  const path = computed(() => {
    const out = new Map<string, { from: number; to: number }[]>()
    for (const s of tree.value?.path ?? []) {
      const part = { from: offset(s.start, zero.value), to: offset(s.end, zero.value) }
      for (const id of s.group ? [s.spanId, s.group] : [s.spanId]) {
        const list = out.get(id)
        if (list) list.push(part)
        else out.set(id, [part])
      }
    }
    return out
  })

  const matches = computed(() => new Set(found.value?.spans.map((s) => s.spanId) ?? []))

  const toggle = (row: Row, unfold = !('unfolded' in row && row.unfolded)): void => {
    if (row.kind === 'gap') return
    const key = keyOf(row)
    if (row.kind === 'span' && key === '') {
      if (!row.foldable) return
      const next = new Set(state.shut.peek())
      if (unfold) next.delete(row.id)
      else next.add(row.id)
      state.setShut(next)
      return
    }
    const next = new Set(opened.peek())
    if (unfold) {
      next.add(key)
      if (!lists.peek().has(key)) void fetchKeys([key])
    } else next.delete(key)
    setOpened(next)
  }

  const loadGap = (row: Row): void => {
    if (row.kind !== 'gap') return
    void fetchKeys([row.from > 0 ? `${row.list}:${row.from}` : row.list])
  }

  // unfoldAll opens lists from the top on, until there are enough rows.
  const unfoldAll = async (): Promise<void> => {
    state.setShut([])
    for (let round = 0; round < 100 && rows.peek().length < mostRows; round++) {
      const closed = rows.peek().filter((r) => keyOf(r) !== '' && r.kind !== 'gap' && !r.unfolded)
      const gaps = rows.peek().filter((r) => r.kind === 'gap')
      if (closed.length === 0 && gaps.length === 0) break
      const next = new Set(opened.peek())
      const keys: string[] = []
      let room = mostRows - rows.peek().length
      for (const r of closed) {
        if (room <= 0) break
        const key = keyOf(r)
        room -= Math.min(pageLength, r.kind === 'others' ? r.count : r.kind === 'gap' ? 0 : (r.item.group?.count ?? r.item.others))
        next.add(key)
        if (!lists.peek().has(key)) keys.push(key)
      }
      for (const r of gaps) {
        for (let from = r.from; from < r.from + r.count && room > 0; from += pageLength) {
          room -= Math.min(pageLength, r.from + r.count - from)
          keys.push(from > 0 ? `${r.list}:${from}` : r.list)
        }
      }
      opened.value = next
      for (let i = 0; i < keys.length; i += 8) await fetchKeys(keys.slice(i, i + 8))
      if (left()) return
    }
    state.setOpen(opened.peek())
  }

  const foldAll = (): void => {
    setOpened(new Set())
    state.setShut(rows.peek().flatMap((r) => (r.kind === 'span' && keyOf(r) === '' && r.foldable && r.depth > 0 ? [r.id] : [])))
  }

  const itemOf = (id: string): Item | undefined => {
    for (const l of lists.peek().values()) for (const c of l.chunks) for (const i of c.items) if (i.id === id) return i
    return undefined
  }
  const children = (id: string): Item[] => lists.peek().get(`c${id}`)?.chunks.flatMap((c) => c.items) ?? []

  const reveal = async (id: string): Promise<boolean> => {
    if (index.peek().has(id)) return !left()
    let detail: SpanDetail
    try {
      detail = await source.span(id)
    } catch {
      return false
    }
    const show = new Set(opened.peek())
    const unshut = new Set(state.shut.peek())
    for (const step of detail.way) {
      const name = base(step.key)
      if (name[0] !== 'c') show.add(name)
      unshut.delete(step.span.spanId === id ? '' : step.span.spanId)
      if (!itemOf(step.span.spanId)) await fetchKeys([step.key])
    }
    if (left()) return false
    batch(() => {
      if (unshut.size !== state.shut.peek().size) state.setShut(unshut)
      setOpened(show)
    })
    return index.peek().has(id)
  }

  let timer: ReturnType<typeof setTimeout> | undefined
  const changed = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      load()
    }, pause)
  }

  const search = (text: string): void => {
    searching.abort()
    searching = new AbortController()
    const mine = searching
    if (text.trim() === '') {
      found.value = undefined
      return
    }
    source.find(text, mine.signal).then(
      (answer) => {
        if (searching === mine) found.value = answer
      },
      (err: unknown) => {
        if (searching === mine) fail(err)
      },
    )
  }

  return {
    source, tree, problem, base: zero, extent, asked, path, rows, index, found, matches, loading,
    item: itemOf, children, load, retry, changed, toggle, unfoldAll, foldAll, loadGap, reveal, search,
    end() {
      ended = true
      control.abort()
      searching.abort()
      clearTimeout(timer)
    },
  }
}
