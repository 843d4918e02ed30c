// SPDX-License-Identifier: Apache-2.0

import type { ReadonlySignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { brief, short, Text, visible } from '../text/text'
import { length } from './clock'
import { endOf } from './draw'
import type { Model, Row } from './model'
import * as state from './state'
import type { Window } from './view'
import { nameOf } from './words'

// Rows come and go in blocks of about one tick of a wheel. A block is one positioned box, and its rows are in normal
// flow: with a box for each row, style, hit tests and paint would cost more at each scroll. trace.css has the heights.
export const rowHeight = 24
export const blockRows = 5
export const blockHeight = blockRows * rowHeight

interface Block {
  rows: Row[]
  look: string
  node: VNode
}

// Rows draws the blocks of the window. A block that has not changed keeps its node, so that nothing is compared.
export function Rows({ model, view, from, to, wide, focusable }: {
  model: Model
  view: Window
  from: ReadonlySignal<number>
  to: ReadonlySignal<number>
  wide: ReadonlySignal<number>
  focusable: string
}) {
  const cache = useRef(new Map<number, Block>())
  const last = useRef<unknown[]>([])
  const all = model.rows.value
  const matches = model.matches.value
  const at = state.at.value
  const width = wide.value
  const loading = model.loading.value
  const busy = (row: Row) =>
    loading.size > 0 &&
    (loading.has(row.id) || (row.kind === 'gap' && row.from === 0 && loading.has(row.list)) || (row.kind === 'span' && loading.has(row.item.under)))
  // A scroll changes none of these: then a block that is there needs no comparison.
  const inputs = [all, matches, at, width, loading, focusable]
  const scrolled = inputs.every((input, i) => input === last.current[i])
  last.current = inputs
  const next = new Map<number, Block>()
  const out: VNode[] = []
  for (let n = from.value; n < to.value; n++) {
    let block = cache.current.get(n)
    if (!block || !scrolled) {
      const first = n * blockRows
      const rows = all.slice(first, first + blockRows)
      const looks = rows.map((row) => ({ selected: row.id === at, focusable: row.id === focusable, match: matches.has(row.id), busy: busy(row), width, view }))
      const look = looks.map((l) => `${l.selected} ${l.focusable} ${l.match} ${l.busy} ${width}`).join()
      if (!block || block.look !== look || block.rows.length !== rows.length || rows.some((row, i) => row !== block!.rows[i])) {
        const node = (
          <div key={n} class="block" role="presentation" style={{ top: `${n * blockHeight}px` }}>
            {rows.map((row, i) => line(row, first + i, looks[i]!))}
          </div>
        )
        block = { rows, look, node }
      }
    }
    next.set(n, block)
    out.push(block.node)
  }
  cache.current = next
  // A row that has come into another block has a new element there, which takes the focus of the old one.
  const focused = scrolled ? undefined : document.activeElement?.closest<HTMLElement>('.waterfall [data-row]')?.dataset.row
  useLayoutEffect(() => {
    if (focused === undefined || document.activeElement !== document.body) return
    document.querySelector<HTMLElement>(`.waterfall [data-row="${focused}"]`)?.focus({ preventScroll: true })
  })
  return <>{out}</>
}

interface Look {
  selected: boolean
  focusable: boolean
  match: boolean
  busy: boolean
  width: number
  view: Window
}

function line(row: Row, place: number, look: Look): VNode {
  const foldable = row.kind === 'span' ? row.foldable : row.kind !== 'gap'
  const unfolded = row.kind !== 'gap' && row.unfolded
  const item = row.kind === 'span' || row.kind === 'group' ? row.item : undefined
  const failed = item && ((item.span ?? item.group)!.failed || (item.span ?? item.group)!.outcome === 'failed')
  const { title, content, more } = words(row, look.busy)
  return (
    <div
      key={row.id}
      class={`row ${row.kind}${look.selected ? ' selected' : ''}${look.match ? ' match' : ''}${failed ? ' failed' : ''}${item?.span?.other ? ' other' : ''}${item?.open ? ' open' : ''}`}
      role="row"
      data-row={row.id}
      aria-rowindex={place + 1}
      aria-level={row.depth + 1}
      aria-selected={look.selected}
      aria-expanded={foldable ? unfolded : undefined}
      aria-busy={look.busy || undefined}
      tabIndex={look.focusable ? 0 : -1}
    >
      <span class={`name${isLong(row, look.width) ? ' long' : ''}${more ? ' more' : ''}`} role="gridcell" title={title} style={{ paddingInlineStart: `${28 + Math.min(row.depth, 14) * 13}px` }}>
        {foldable && (
          <span class="fold" aria-hidden="true">
            {unfolded ? '▾' : '▸'}
          </span>
        )}
        {more ? <span class="words">{content}</span> : content}
        {more}
      </span>
      <span class="time" role="gridcell" aria-label={item ? spoken(row, look.view) : undefined} />
    </div>
  )
}

// isLong guesses whether the words need more room than there is. Only these are cut by the browser, since each
// clip costs time while scrolling.
function isLong(row: Row, width: number): boolean {
  if (row.kind !== 'span') return width < 320
  const s = row.item.span!
  const { what, name } = nameOf(s)
  return 60 + Math.min(row.depth, 14) * 13 + (what.length + name.length) * 8 + Math.min(24, s.service?.length ?? 0) * 7.2 > width
}

const number = new Intl.NumberFormat('en').format

interface Words {
  // title is the whole text, where the content may be cut.
  title?: string
  content: VNode | VNode[] | string
  // more is the content at the end of the cell.
  more?: VNode[]
}

// words returns the content of a row's name. It is no component, and has few elements: rows are made while scrolling.
function words(row: Row, busy: boolean): Words {
  if (row.kind === 'gap') {
    return { content: busy ? 'loading…' : `${number(row.count)} more, load ${number(Math.min(row.count, 200))}` }
  }
  if (row.kind === 'others') {
    return { content: `${number(row.count)} span${row.count === 1 ? '' : 's'} of other components${busy ? ', loading…' : ''}` }
  }
  if (row.item.group) {
    const g = row.item.group
    const what = g.label.startsWith('reconcile ') ? g.label.slice('reconcile '.length) : g.label
    return {
      content: (
        <>
          <b class="times">{number(g.count)} ×</b> <Text of={what} most={60} by={brief} />
          {g.reason && (
            <span class="soft">
              {' '}
              <Text of={g.reason} />
            </span>
          )}
          {busy && <span class="soft"> loading…</span>}
        </>
      ),
    }
  }
  const s = row.item.span!
  const { what, name } = nameOf(s)
  const more: VNode[] = []
  if (s.other && row.item.others > 0 && !row.unfolded) more.push(<span class="below">{busy ? 'loading…' : `+ ${number(row.item.others)}`}</span>)
  if (s.service) more.push(Text({ of: s.service, most: 24, class: 'service' }))
  return {
    title: visible(name ? `${what} ${name}` : what),
    content: name
      ? [<bdi class="kind">{short(visible(what), 40)} </bdi>, <bdi class="mono">{short(visible(name), 64)}</bdi>]
      : <bdi>{short(s.other ? visible(what) : brief(visible(what)), 80)}</bdi>,
    ...(more.length > 0 && { more }),
  }
}

// spoken says in words what the bar shows.
function spoken(row: Row, view: Window): string {
  if (row.kind !== 'span' && row.kind !== 'group') return ''
  const { item } = row
  const start = length(item.start - view.whole.peek().from)
  const of = item.span ?? item.group!
  const end = of.failed || of.outcome === 'failed' ? ', failed' : of.outcome ? `, ${of.outcome}` : ''
  if (item.group) {
    const g = item.group
    return `${g.count} alike, from ${length(g.min * 1000)} to ${length(g.max * 1000)}, half within ${length(g.p50 * 1000)}${end}`
  }
  return `${item.open ? 'not ended, ' : ''}${length(endOf(item, view.present.peek()) - item.start)}, ${start} after the start${end}`
}
