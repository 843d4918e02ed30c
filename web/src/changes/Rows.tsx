// SPDX-License-Identifier: Apache-2.0

import { computed, signal, useSignalEffect, type ReadonlySignal } from '@preact/signals'
import { Component } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useKeys } from '../app/keys'
import { go } from '../app/router'
import { useUnder } from '../app/under'
import type { Summary } from '../api/types'
import { brief, briefer, short, Text, visible } from '../text/text'
import { absolute, Ago, duration, serverNow } from '../text/time'
import type { Group, Row } from './folding'
import { changes, loading, loadMore, more, rows } from './list'
import { at, folding, select, setFolding, setUnfolded } from './state'
import { marks } from '../text/states'
import { action, continues, later, present, sentence, what, who, worse } from '../text/summary'
import { WorkBar } from './work'

// Rows is the list, of which only the visible rows are in the document. All rows have one height.

const wide = 30
const narrow = 78
const phone = matchMedia('(max-width: 700px)')
// around is the number of rows beyond each edge of the window.
const around = 10
// The next page loads this many rows before the end.
const ahead = 60

const rowHeight = signal(phone.matches ? narrow : wide)
phone.addEventListener('change', (e) => (rowHeight.value = e.matches ? narrow : wide))

// The window of the list. It stays when the view is left.
const top = signal(0)
const viewport = signal(600)

const withLater = computed(() => changes.value.some((s) => s.now !== undefined))

const indexOf = computed(() => new Map(rows.value.map((r, i) => [r.id, i])))

// foldAt folds or unfolds the group of a row.
function foldAt(row: Row): void {
  const group = row.kind === 'group' ? row.group : row.of
  if (!group) return
  setUnfolded(group.changes, !group.open)
  if (row.kind === 'change') select(group.id)
}

function open(row: Row): void {
  if (row.kind === 'group') return foldAt(row)
  select(row.id)
  go(`/trace/${row.change.traceId}`)
}

export function Rows() {
  const box = useRef<HTMLDivElement>(null)

  const scrollTo = (i: number) => {
    const element = box.current
    if (!element) return
    const h = rowHeight.peek()
    if (i * h < element.scrollTop) element.scrollTop = i * h
    else if ((i + 1) * h > element.scrollTop + element.clientHeight) element.scrollTop = (i + 1) * h - element.clientHeight
  }
  const move = (to: (i: number, length: number) => number) => {
    const all = rows.peek()
    if (all.length === 0) return
    const here = indexOf.peek().get(at.peek())
    const i = here === undefined ? Math.round(top.peek() / rowHeight.peek()) : Math.max(0, Math.min(all.length - 1, to(here, all.length)))
    const row = all[i]
    if (!row) return
    select(row.id)
    scrollTo(i)
    focusRow(row.id)
  }
  const focusRow = (id: string) => {
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus({ preventScroll: true }))
  }
  const selected = () => {
    const i = indexOf.peek().get(at.peek())
    return i === undefined ? undefined : rows.peek()[i]
  }
  const page = () => Math.max(1, Math.floor(viewport.peek() / rowHeight.peek()) - 1)
  useKeys('Changes', [
    { keys: ['j', 'ArrowDown'], help: 'next row', run: () => move((i) => i + 1) },
    { keys: ['k', 'ArrowUp'], help: 'previous row', run: () => move((i) => i - 1) },
    { keys: ['PageDown'], help: 'a page down', run: () => move((i) => i + page()) },
    { keys: ['PageUp'], help: 'a page up', run: () => move((i) => i - page()) },
    { keys: ['Home'], help: 'newest', run: () => move(() => 0) },
    { keys: ['End'], help: 'oldest that is loaded', run: () => move((_, n) => n - 1) },
    {
      keys: ['Enter', 'o'],
      help: 'open the trace',
      run: () => {
        const row = selected()
        if (row) open(row)
      },
    },
    {
      keys: ['f', ' '],
      help: 'fold or unfold alike changes',
      run: () => {
        const row = selected()
        if (!row) return
        foldAt(row)
        focusRow(at.peek())
      },
    },
    { keys: ['F'], help: 'fold nothing, or again', run: () => setFolding(!folding.peek()) },
  ])

  // The window follows the element, and the element returns to its place.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    element.scrollTop = top.peek()
    viewport.value = element.clientHeight
    const observer = new ResizeObserver(() => (viewport.value = element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // A deep link shows its row. Later, live rows above do not move what one reads.
  const anchor = useRef<{ id: string; offset: number } | undefined>(undefined)
  const shown = useRef(at.peek() === '' || top.peek() > 0)
  useSignalEffect(() => {
    const element = box.current
    const index = indexOf.value
    const h = rowHeight.value
    if (!element || index.size === 0) return
    if (!shown.current) {
      shown.current = true
      const id = at.peek()
      let i = index.get(id)
      if (i === undefined) {
        const row = rows.peek().find((r) => r.kind === 'group' && r.group.changes.some((s) => s.traceId === id))
        if (row?.kind === 'group') {
          setUnfolded(row.group.changes, true)
          shown.current = false
          return
        }
      }
      if (i !== undefined) {
        const place = i
        queueMicrotask(() => {
          element.scrollTop = Math.max(0, place * h - element.clientHeight / 3)
          top.value = element.scrollTop
        })
      }
      return
    }
    const kept = anchor.current
    const i = kept && index.get(kept.id)
    if (kept && i !== undefined && top.peek() > 0) {
      const place = Math.max(0, i * h + kept.offset)
      if (Math.abs(place - element.scrollTop) > 1) {
        top.value = place
        queueMicrotask(() => (element.scrollTop = place))
      }
    }
  })
  const scrolled = () => {
    const element = box.current
    if (!element) return
    top.value = element.scrollTop
    const h = rowHeight.peek()
    const i = Math.floor(element.scrollTop / h)
    const row = rows.peek()[i]
    anchor.current = row && element.scrollTop > 0 ? { id: row.id, offset: element.scrollTop - i * h } : undefined
  }

  const all = rows.value
  const h = rowHeight.value
  // Steps of the window, so that most scroll events draw nothing.
  const begin = useWindow(() => Math.max(0, Math.floor(top.value / h / 5) * 5 - around))
  const end = useWindow(() => Math.min(rows.value.length, Math.ceil((top.value + viewport.value) / h / 5) * 5 + around))
  useEffect(() => {
    if (more.value && end.value + ahead >= all.length) void loadMore()
  }, [end.value, all.length, more.value])

  const under = useUnder(box, () => rowHeight.peek())
  const visibleRows = all.slice(begin.value, end.value)
  const focusable = indexOf.value.has(at.value) ? at.value : all[Math.max(0, Math.floor(top.peek() / h))]?.id
  return (
    <div class={`rows${withLater.value ? ' later' : ''}`} role="treegrid" aria-label="Changes, the newest first" aria-rowcount={more.value ? -1 : all.length + 1} aria-busy={loading.value}>
      <div class="row head" role="row" aria-rowindex={1}>
        <span role="columnheader">When</span>
        <span role="columnheader">Who</span>
        <span role="columnheader">What</span>
        <span role="columnheader">Outcome</span>
        <span role="columnheader" class="number">
          Took
        </span>
        <span role="columnheader">Where the time went</span>
      </div>
      <div class="window" ref={box} onScroll={scrolled} onPointerMove={under.move} onPointerLeave={under.leave} role="rowgroup">
        <div class="all" style={{ height: `${all.length * h}px` }} role="presentation">
          {under.element}
          {visibleRows.map((row, i) => (
            <RowView
              key={row.id}
              row={row}
              index={begin.value + i}
              height={h}
              selected={row.id === at.value}
              focusable={row.id === focusable}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

interface RowProperties {
  row: Row
  index: number
  height: number
  selected: boolean
  focusable: boolean
}

// same reports whether two rows look the same. A group is made anew when the list changes.
function same(a: Row, b: Row): boolean {
  if (a === b) return true
  if (a.kind === 'change') return b.kind === 'change' && a.change === b.change && (a.of === undefined) === (b.of === undefined)
  return (
    b.kind === 'group' &&
    a.group.open === b.group.open &&
    a.group.changes.length === b.group.changes.length &&
    a.group.changes.every((s, i) => s === b.group.changes[i])
  )
}

// RowView is one row. It is drawn again only after a change of what it shows.
class RowView extends Component<RowProperties> {
  override shouldComponentUpdate(next: RowProperties): boolean {
    const { row, index, height, selected, focusable } = this.props
    return (
      index !== next.index ||
      height !== next.height ||
      selected !== next.selected ||
      focusable !== next.focusable ||
      !same(row, next.row)
    )
  }

  render({ row, index, height, selected, focusable }: RowProperties) {
    const group = row.kind === 'group'
    return (
      <div
        class={`row${selected ? ' selected' : ''}${group ? ' group' : row.of ? ' member' : ''} s-${(group ? row.group.changes[0]! : row.change).state}${!group && row.change.now ? ' broken' : ''}`}
        role="row"
        data-row={row.id}
        aria-rowindex={index + 2}
        aria-selected={selected}
        aria-level={!group && row.of ? 2 : 1}
        aria-expanded={group ? row.group.open : undefined}
        tabIndex={focusable ? 0 : -1}
        style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
        onClick={(e) => {
          if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.button !== 0) return
          if (String(getSelection()) !== '') return
          if ((e.target as Element).closest('a.later')) return // a link of its own
          e.preventDefault()
          open(this.props.row)
        }}
        onFocus={(e) => {
          if (e.target === e.currentTarget && at.peek() !== row.id && e.currentTarget.matches(':focus-visible')) select(row.id)
        }}
      >
        {group ? <GroupCells of={row.group} /> : <Cells of={row.change} />}
      </div>
    )
  }
}

// useWindow returns a computed number that draws the component only when it changes.
function useWindow(compute: () => number): ReadonlySignal<number> {
  const latest = useRef(compute)
  latest.current = compute
  const value = useRef<ReadonlySignal<number> | undefined>(undefined)
  value.current ??= computed(() => latest.current())
  return value.current
}

function Who({ of }: { of: Summary }) {
  const { name, by } = who(of)
  if (name === '') return <span class="soft">unknown</span>
  return (
    <span title={visible(by ? `${name} (${by})` : name)}>
      <Text of={name} />
      {by && (
        <span class="soft by">
          {' '}
          <Text of={by} />
        </span>
      )}
    </span>
  )
}

// Begin is the age of a change. ~ marks the latest possible begin of a range.
function Begin({ of }: { of: Summary }) {
  return (
    <>
      {of.earliest && <span title={`at the earliest ${absolute(Date.parse(of.earliest))}`}>~</span>}
      <Ago at={of.start} />
    </>
  )
}

function Where({ of, name = true }: { of: Summary; name?: boolean }) {
  const object = of.object
  return (
    <>
      {object?.namespace && (
        <span class="soft mono">
          <Text of={object.namespace} most={40} />/
        </span>
      )}
      {name && object?.name && <Text of={object.name} most={64} class="mono object" />}
    </>
  )
}

// Later is the present state, where it differs from the outcome. The style sheet chooses the cell that shows it: a
// narrow list has no room beside the outcome.
function Later({ of, before = '' }: { of: Summary; before?: string }) {
  if (!of.now) return null
  return (
    <a class="later" href={`/?problem=${encodeURIComponent(of.now.problem)}`} tabIndex={-1} title={visible(of.now.reason)}>
      {before}
      {later(of, serverNow.value)}
    </a>
  )
}

function StateCell({ of, many }: { of: Summary; many?: boolean }) {
  const now = of.state
  return (
    <span role="gridcell" class={`state ${now}`}>
      <span class="mark" aria-hidden="true">
        {marks[now]}
      </span>
      {many ? `all ${now}` : now}
      <Later of={of} before=" · " />
    </span>
  )
}

function Cells({ of }: { of: Summary }) {
  const s = continues(of) ? present(of, serverNow.value) : of
  const why = sentence(s)
  const percent = s.slowest && s.duration > 0 ? Math.min(100, Math.floor((100 * (s.slowestDuration ?? 0)) / s.duration)) : 0
  const edits = (s.edits ?? []).map(visible).join(', ')
  return (
    <>
      <span role="gridcell" class="when">
        <Begin of={s} />
      </span>
      <span role="gridcell" class="who">
        <Who of={s} />
      </span>
      <span role="gridcell" class="what">
        <a href={`/trace/${s.traceId}`} tabIndex={-1} title={visible(what(s))}>
          {s.command ? (
            <Text of={s.command} most={120} class="mono" />
          ) : (
            <>
              <Text of={action(s)} class="verb" /> <Where of={s} />
            </>
          )}
        </a>
        {s.heals && (
          <span class="tag" title={visible(`the cluster reacted to ${s.heals}`)}>
            healing
          </span>
        )}
        {s.fight && (
          <span class="tag warn" title={visible(s.fight)}>
            fight
          </span>
        )}
        {s.was && (
          <span class="tag" title={visible(`${s.was} at first${s.reason ? `: ${s.reason}` : ''}`)}>
            {s.outcome === 'converged' ? 'recovered' : `was ${s.was}`}
          </span>
        )}
        {s.pinned && <span class="tag">pinned</span>}
        {edits && (
          <bdi class="edits" title={edits}>
            {short(brief(edits), 90)}
          </bdi>
        )}
      </span>
      <StateCell of={s} />
      <span role="gridcell" class="number took">
        {duration(s.duration)}
        {continues(s) && '…'}
      </span>
      <span role="gridcell" class="time">
        {s.aftermath && (
          <span class="tag warn first" title={visible(`converged; since then ${s.aftermath.text}`)}>
            {worse}
          </span>
        )}
        <Later of={s} />
        {why ? (
          <Text of={why} class="why" by={briefer} />
        ) : s.slowest ? (
          <>
            <WorkBar of={s} />
            <span class="percent">{percent} %</span>
            <Text of={s.slowest} class="slowest" by={brief} />
          </>
        ) : (
          <span class="soft">–</span>
        )}
      </span>
    </>
  )
}

// few is the number of names that a folded row shows.
const few = 3

function GroupCells({ of }: { of: Group }) {
  const newest = of.changes[0]!
  const oldest = of.changes[of.changes.length - 1]!
  const times = of.changes.map((s) => present(s, serverNow.value).duration)
  const least = Math.min(...times)
  const most = Math.max(...times)
  const names = [...new Set(of.changes.map((s) => s.object?.name ?? ''))]
  const over = (Date.parse(newest.start) - Date.parse(oldest.start)) / 1000
  return (
    <>
      <span role="gridcell" class="when">
        <Ago at={newest.start} />
      </span>
      <span role="gridcell" class="who">
        <Who of={newest} />
      </span>
      <span role="gridcell" class="what">
        <span class="fold" aria-hidden="true">
          {of.open ? '▾' : '▸'}
        </span>
        <b class="times">{of.changes.length} ×</b> <Text of={action(newest)} class="verb" /> <Where of={newest} name={names.length === 1} />
        {names.length > 1 && (
          <span class="names mono">
            {names.slice(0, few).map((name, i) => (
              <span key={name}>
                {i > 0 && ', '}
                <Text of={name} most={32} />
              </span>
            ))}
            {names.length > few && `, and ${names.length - few} more`}
          </span>
        )}
      </span>
      <StateCell of={newest} many />
      <span role="gridcell" class="number took">
        {duration(most)}
      </span>
      <span role="gridcell" class="time soft">
        {least === most ? `each ${duration(most)}` : `each ${duration(least)} to ${duration(most)}`}, over {duration(over)}
      </span>
    </>
  )
}
