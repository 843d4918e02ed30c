// SPDX-License-Identifier: Apache-2.0

import { computed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../app/keys'
import { useUnder } from '../app/under'
import { Bars } from './Bars'
import { length, ticks } from './clock'
import { endOf, gutter } from './draw'
import type { Model, Row } from './model'
import { blockHeight, blockRows, rowHeight, Rows } from './Rows'
import * as state from './state'
import { names, type Window } from './view'

// Waterfall has one row for each span, group or folded list. Only the visible blocks of rows are in the document.

const height = rowHeight
// around is the room beyond each edge that has rows, too.
const around = 4 * rowHeight

export function Waterfall({ model, window: view }: { model: Model; window: Window }) {
  const box = useRef<HTMLDivElement>(null)
  const cursor = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const size = useSignal({ width: 800, height: 600 })
  const phone = size.value.width < 560

  const blocks = useMemo(
    () => ({
      from: computed(() => Math.max(0, Math.floor((top.value - around) / blockHeight))),
      to: computed(() => Math.min(Math.ceil(model.rows.value.length / blockRows), Math.ceil((top.value + size.value.height + around) / blockHeight))),
    }),
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
        <div class="all" style={{ height: `${all.length * height}px`, '--names': `${left.value}px` }} role="presentation">
          {under.element}
          <Rows model={model} view={view} from={blocks.from} to={blocks.to} focusable={focusable ?? ''} wide={left} />
          <Bars model={model} view={view} from={blocks.from} to={blocks.to} left={left} size={size} />
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
