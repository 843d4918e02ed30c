// SPDX-License-Identifier: Apache-2.0

import { computed, effect, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../app/keys'
import { dark } from '../app/theme'
import { useUnder } from '../app/under'
import { brief, short, Text, visible } from '../text/text'
import { length, ticks } from './clock'
import { colours, drawBars, type Colours, endOf, fit, gutter } from './draw'
import type { Model, Row } from './model'
import * as state from './state'
import { names, type Window } from './view'
import { nameOf } from './words'

// Waterfall has one row for each span, group or folded list. Only the visible rows are in the document, and
// one canvas beside them has their bars. It moves with them, and is drawn again when the rows change.

const height = 24
// around is the number of rows beyond each edge, and step that by which the window moves.
const around = 4
const step = 1

export function Waterfall({ model, window: view }: { model: Model; window: Window }) {
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const cursor = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const size = useSignal({ width: 800, height: 600 })
  const phone = size.value.width < 560

  const begin = useMemo(() => computed(() => Math.max(0, Math.floor(top.value / height / step) * step - around)), [])
  const end = useMemo(
    () => computed(() => Math.min(model.rows.value.length, Math.ceil((top.value + size.value.height) / height / step) * step + around)),
    [model],
  )
  const left = useMemo(
    () => computed(() => Math.round(size.value.width < 560 ? size.value.width * 0.56 : Math.max(180, size.value.width * names.value))),
    [],
  )

  useLayoutEffect(() => {
    const element = box.current!
    const measure = () => (size.value = { width: element.clientWidth, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])

  // The colours of the style sheet follow a theme a moment later.
  const styled = useSignal<Colours | undefined>(undefined)
  useSignalEffect(() => {
    dark()
    const frame = requestAnimationFrame(() => (styled.value = colours()))
    return () => cancelAnimationFrame(frame)
  })

  // The canvas has the bars of all rows in the document. It is drawn in the frame in which they change: an
  // effect of a component would be a frame late.
  useLayoutEffect(() => effect(() => {
    // They are read once: a read after a write would make the browser compute all styles.
    const tones = styled.value ?? colours()
    const from = begin.value
    const rows = model.rows.value.slice(from, end.value)
    const shown = view.shown.value
    const width = size.value.width - left.value - gutter
    const element = canvas.current
    if (!element || width < 10) return
    const context = fit(element, width + gutter, rows.length * height)
    element.style.left = `${left.value}px`
    element.style.top = `${from * height}px`
    if (!context) return
    const scene = {
      colours: tones, width, from: shown.from, to: shown.to, now: view.present.value,
      path: state.critical.value ? model.path.value : undefined, matches: model.matches.value,
    }
    context.fillStyle = scene.colours.line
    context.globalAlpha = 0.6
    for (const t of ticks(shown.from - view.whole.value.from, shown.to - view.whole.value.from, width / 110)) {
      const x = ((t + view.whole.value.from - shown.from) / (shown.to - shown.from)) * width
      context.fillRect(Math.round(x), 0, 1, rows.length * height)
    }
    context.globalAlpha = 1
    drawBars(context, rows, height, scene)
  }), [model, view])

  const selectedIndex = () => model.index.peek().get(state.at.peek())
  const show = (i: number, middle = false) => {
    const element = box.current
    if (!element) return
    const room = element.clientHeight
    if (i * height < element.scrollTop || (i + 1) * height > element.scrollTop + room) {
      element.scrollTop = middle ? Math.max(0, i * height - room / 3) : i * height < element.scrollTop ? i * height : (i + 1) * height - room
      top.value = element.scrollTop
    }
  }
  const focus = (id: string) => {
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus({ preventScroll: true }))
  }
  const choose = (i: number) => {
    const row = model.rows.peek()[i]
    if (!row) return
    state.select(row.id)
    show(i)
    focus(row.id)
  }
  const move = (to: (i: number, n: number) => number) => {
    const n = model.rows.peek().length
    if (n === 0) return
    const here = selectedIndex()
    choose(here === undefined ? Math.round(top.peek() / height) : Math.max(0, Math.min(n - 1, to(here, n))))
  }
  const selected = () => {
    const i = selectedIndex()
    return i === undefined ? undefined : model.rows.peek()[i]
  }
  const toggle = (row: Row, unfold?: boolean) => {
    if (row.kind === 'gap') model.loadGap(row)
    else model.toggle(row, unfold)
  }
  const page = () => Math.max(1, Math.floor(size.peek().height / height) - 1)
  const left1 = () => {
    const row = selected()
    if (!row) return
    if ('unfolded' in row && row.unfolded && (row.kind !== 'span' || row.foldable)) return toggle(row, false)
    const i = selectedIndex() ?? 0
    for (let k = i - 1; k >= 0; k--) if (model.rows.peek()[k]!.depth < row.depth) return choose(k)
  }
  const right1 = () => {
    const row = selected()
    if (!row) return
    if (row.kind === 'gap' || ((row.kind !== 'span' || row.foldable) && !row.unfolded)) toggle(row, true)
    else move((i) => i + 1)
  }
  useKeys('Waterfall', [
    { keys: ['j', 'ArrowDown'], help: 'next row', run: () => move((i) => i + 1) },
    { keys: ['k', 'ArrowUp'], help: 'previous row', run: () => move((i) => i - 1) },
    { keys: ['ArrowRight'], help: 'unfold; with Shift, later', run: (e) => (e.shiftKey ? view.pan(0.2) : right1()) },
    { keys: ['ArrowLeft'], help: 'fold, or the row above; with Shift, earlier', run: (e) => (e.shiftKey ? view.pan(-0.2) : left1()) },
    {
      keys: ['f', 'Enter', ' '],
      help: 'fold or unfold',
      run: () => {
        const row = selected()
        if (row) toggle(row)
      },
    },
    { keys: ['e'], help: 'unfold all', run: () => void model.unfoldAll() },
    { keys: ['E'], help: 'fold all', run: () => model.foldAll() },
    { keys: ['PageDown'], help: 'a page down', run: () => move((i) => i + page()) },
    { keys: ['PageUp'], help: 'a page up', run: () => move((i) => i - page()) },
    { keys: ['Home'], help: 'first row', run: () => move(() => 0) },
    { keys: ['End'], help: 'last row', run: () => move((_, n) => n - 1) },
    {
      keys: ['z'],
      help: 'zoom to the row',
      run: () => {
        const row = selected()
        if (row) zoomTo(row)
      },
    },
    { keys: ['+', '='], help: 'zoom in', run: () => view.zoomBy(0.6) },
    { keys: ['-'], help: 'zoom out', run: () => view.zoomBy(1 / 0.6) },
    { keys: ['0'], help: 'all of the time', run: () => view.show(undefined) },
  ], [model, view])

  const zoomTo = (row: Row) => {
    if (row.kind !== 'span' && row.kind !== 'group') return
    const to = endOf(row.item, view.present.peek())
    const room = Math.max((to - row.item.start) * 0.08, 0.001)
    view.show({ from: row.item.start - room, to: to + room }, { step: true })
  }

  // A row that was selected from elsewhere comes into view.
  const last = useRef('')
  useSignalEffect(() => {
    const id = state.at.value
    const i = model.index.value.get(id)
    if (id === last.current || i === undefined) return
    last.current = id
    queueMicrotask(() => show(i, true))
  })

  const timeAt = (clientX: number): number | undefined => {
    const r = box.current!.getBoundingClientRect()
    const width = size.peek().width - left.peek() - gutter
    const x = clientX - r.left - left.peek()
    if (x < 0 || x > width + 1) return undefined
    const s = view.shown.peek()
    return s.from + (x / width) * (s.to - s.from)
  }

  const rowOf = (e: MouseEvent): Row | undefined => {
    const id = (e.target as Element).closest<HTMLElement>('[data-row]')?.dataset.row
    const i = id === undefined ? undefined : model.index.peek().get(id)
    return i === undefined ? undefined : model.rows.peek()[i]
  }

  // The wheel with Ctrl zooms, and sideways it pans.
  useLayoutEffect(() => {
    const element = box.current!
    const wheel = (e: WheelEvent) => {
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault()
        view.zoomBy(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 150), timeAt(e.clientX))
      } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
        if (!view.zoomed.peek()) return
        e.preventDefault()
        view.pan((e.deltaX || e.deltaY) / Math.max(200, size.peek().width))
      }
    }
    element.addEventListener('wheel', wheel, { passive: false })
    return () => element.removeEventListener('wheel', wheel)
  }, [view])

  // Dragging the bars pans.
  const press = (e: PointerEvent) => {
    if (e.button !== 0 || e.pointerType === 'touch' || timeAt(e.clientX) === undefined || !view.zoomed.peek()) return
    const startX = e.clientX
    const before = view.shown.peek()
    const width = size.peek().width - left.peek() - gutter
    const element = box.current!
    let moved = false
    const move = (m: PointerEvent) => {
      if (!moved && Math.abs(m.clientX - startX) < 4) return
      moved = true
      element.classList.add('panning')
      const by = ((startX - m.clientX) / width) * (before.to - before.from)
      view.show({ from: before.from + by, to: before.to + by })
    }
    const up = () => {
      removeEventListener('pointermove', move)
      removeEventListener('pointerup', up)
      element.classList.remove('panning')
      if (moved) addEventListener('click', swallow, { capture: true, once: true })
      setTimeout(() => removeEventListener('click', swallow, { capture: true }))
    }
    const swallow = (c: Event) => {
      c.stopPropagation()
      c.preventDefault()
    }
    addEventListener('pointermove', move)
    addEventListener('pointerup', up)
  }

  // A scroll repeats the last event of the pointer: nothing moves then.
  const hovered = useRef(-1)
  const under = useUnder(box, () => height)
  const hover = (e: PointerEvent) => {
    const line = cursor.current
    if (!line || hovered.current === e.clientX) return
    hovered.current = e.clientX
    const at = e.pointerType === 'touch' ? undefined : timeAt(e.clientX)
    line.hidden = at === undefined
    if (at === undefined) return
    const r = box.current!.getBoundingClientRect()
    const x = e.clientX - r.left
    line.style.transform = `translateX(${x}px)`
    line.classList.toggle('before', x > size.peek().width - 90)
    line.firstElementChild!.textContent = length(at - view.whole.peek().from)
  }

  const all = model.rows.value
  const shown = view.shown.value
  const whole = view.whole.value
  const plot = size.value.width - left.value - gutter
  const focusable = model.index.value.has(state.at.value) ? state.at.value : all[Math.max(0, Math.floor(top.peek() / height))]?.id
  return (
    <div
      class={`waterfall${phone ? ' narrow' : ''}`}
      onPointerMove={(e) => {
        hover(e)
        under.move(e)
      }}
      onPointerLeave={() => {
        under.leave()
        hovered.current = -1
        if (cursor.current) cursor.current.hidden = true
      }}
    >
      <div class="scale" aria-hidden="true">
        <span class="what" style={{ width: `${left.value}px` }}>
          Object and work
        </span>
        <Divider left={left} size={size} />
        {ticks(shown.from - whole.from, shown.to - whole.from, Math.max(1, plot / 110)).map((t) => (
          <span key={t} class="tick" style={{ left: `${left.value + ((t + whole.from - shown.from) / (shown.to - shown.from)) * plot}px` }}>
            {length(t)}
          </span>
        ))}
      </div>
      <div class="cursor" ref={cursor} hidden aria-hidden="true">
        <span />
      </div>
      <div
        class="window"
        ref={box}
        role="treegrid"
        aria-label="Spans of the trace"
        aria-rowcount={all.length}
        aria-colcount={2}
        onScroll={() => (top.value = box.current!.scrollTop)}
        onPointerDown={press}
        onClick={(e) => {
          const target = e.target as Element
          const row = rowOf(e)
          if (!row || e.ctrlKey || e.metaKey || e.shiftKey) return
          last.current = row.id
          state.select(row.id)
          if (row.kind !== 'span' || target.closest('.fold')) toggle(row)
        }}
        onDblClick={(e) => {
          const row = rowOf(e)
          if (row && timeAt(e.clientX) !== undefined) zoomTo(row)
        }}
      >
        <div class="all" style={{ height: `${all.length * height}px` }} role="presentation">
          {under.element}
          <Rows model={model} view={view} begin={begin} end={end} left={left} focusable={focusable ?? ''} />
          <canvas ref={canvas} aria-hidden="true" />
        </div>
      </div>
    </div>
  )
}

// Divider changes the width of the names.
function Divider({ left, size }: { left: ReadonlySignal<number>; size: ReadonlySignal<{ width: number }> }) {
  return (
    <span
      class="divider"
      style={{ left: `${left.value - 4}px` }}
      onPointerDown={(e) => {
        e.preventDefault()
        const x = e.clientX
        const before = left.peek()
        const move = (m: PointerEvent) => (names.value = Math.max(0.15, Math.min(0.75, (before + m.clientX - x) / size.peek().width)))
        const up = () => {
          removeEventListener('pointermove', move)
          removeEventListener('pointerup', up)
        }
        addEventListener('pointermove', move)
        addEventListener('pointerup', up)
      }}
    />
  )
}

interface Drawn {
  row: Row
  place: number
  look: string
  node: VNode
}

// Rows draws the rows of the window. A row that has not changed keeps its node, so that nothing is compared.
function Rows({ model, view, begin, end, left, focusable }: {
  model: Model
  view: Window
  begin: ReadonlySignal<number>
  end: ReadonlySignal<number>
  left: ReadonlySignal<number>
  focusable: string
}) {
  const cache = useRef(new Map<string, Drawn>())
  const from = begin.value
  const rows = model.rows.value.slice(from, end.value)
  const matches = model.matches.value
  const at = state.at.value
  const width = left.value
  const loading = model.loading.value
  const next = new Map<string, Drawn>()
  const out = rows.map((row, i) => {
    const busy =
      loading.size > 0 &&
      (loading.has(row.id) || (row.kind === 'gap' && row.from === 0 && loading.has(row.list)) || (row.kind === 'span' && loading.has(row.item.under)))
    const look = `${row.id === at ? 's' : ''}${row.id === focusable ? 'f' : ''}${matches.has(row.id) ? 'm' : ''}${busy ? 'b' : ''}${width}`
    const place = from + i
    const old = cache.current.get(row.id)
    if (old && old.row === row && old.place === place && old.look === look) {
      next.set(row.id, old)
      return old.node
    }
    const node = line(row, place, { selected: row.id === at, focusable: row.id === focusable, match: matches.has(row.id), busy, width, view })
    next.set(row.id, { row, place, look, node })
    return node
  })
  cache.current = next
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
      style={{ top: `${place * height}px` }}
    >
      <span class={`name${isLong(row, look.width) ? ' long' : ''}`} role="gridcell" style={{ width: `${look.width}px`, paddingInlineStart: `${(foldable ? 10 : 28) + Math.min(row.depth, 14) * 13}px` }}>
        {foldable && (
          <span class="fold" aria-hidden="true">
            {unfolded ? '▾' : '▸'}
          </span>
        )}
        {words(row, look.busy)}
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

// words returns the content of a row's name. It is no component, and has few elements: rows are made while scrolling.
function words(row: Row, busy: boolean): VNode {
  if (row.kind === 'gap') {
    return (
      <span class="words soft">
        {busy ? 'loading…' : `${number(row.count)} more, load ${number(Math.min(row.count, 200))}`}
      </span>
    )
  }
  if (row.kind === 'others') {
    return (
      <span class="words soft">
        {number(row.count)} span{row.count === 1 ? '' : 's'} of other components{busy && ', loading…'}
      </span>
    )
  }
  if (row.item.group) {
    const g = row.item.group
    const what = g.label.startsWith('reconcile ') ? g.label.slice('reconcile '.length) : g.label
    return (
      <span class="words">
        <b class="times">{number(g.count)} ×</b> <Text of={what} most={60} by={brief} />
        {g.reason && (
          <span class="soft">
            {' '}
            <Text of={g.reason} />
          </span>
        )}
        {busy && <span class="soft"> loading…</span>}
      </span>
    )
  }
  const s = row.item.span!
  const { what, name } = nameOf(s)
  return (
    <>
      {name ? (
        <span class="words" title={visible(`${what} ${name}`)}>
          {Text({ of: what, most: 40, class: 'kind' })} <bdi class="mono">{short(visible(name), 64)}</bdi>
        </span>
      ) : (
        <bdi class="words" title={visible(what)}>
          {short(s.other ? visible(what) : brief(visible(what)), 80)}
        </bdi>
      )}
      {s.other && row.item.others > 0 && !row.unfolded && (
        <span class="below">{busy ? 'loading…' : `+ ${number(row.item.others)}`}</span>
      )}
      {s.service && Text({ of: s.service, most: 24, class: 'service' })}
    </>
  )
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

