// SPDX-License-Identifier: Apache-2.0

import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { now } from '../text/time'
import type { Model } from './model'
import * as state from './state'

export interface Part {
  from: number
  to: number
}

// Window is the shown time of a trace.
export interface Window {
  // whole is the time of the trace, with some room, and present the end of its open spans.
  whole: ReadonlySignal<Part>
  present: ReadonlySignal<number>
  shown: ReadonlySignal<Part>
  zoomed: ReadonlySignal<boolean>
  // show shows a part; with step, "back" returns to the present one.
  show(part: Part | undefined, options?: { step?: boolean }): void
  // zoomBy zooms by a factor around a time; pan moves by a share of the shown time.
  zoomBy(factor: number, around?: number): void
  pan(share: number): void
}

// least is the shortest shown time, in milliseconds.
const least = 0.001

export function windowOf(model: Model): Window {
  const live = computed(() => model.tree.value?.summary?.open === true && model.source.live)
  const present = computed(() => {
    const t = model.tree.value
    if (!t) return 0
    const asOf = Date.parse(t.asOf) - model.base.value
    return live.value ? asOf + Math.max(0, now.value - model.asked.value) : asOf
  })
  const whole = computed(() => {
    const e = model.extent.value
    const to = model.tree.value?.summary?.open ? Math.max(e.to, present.value) : e.to
    return { from: e.from, to }
  })
  const shown = computed(() => state.zoom.value ?? whole.value)
  const show = (part: Part | undefined, options: { step?: boolean } = {}) => {
    const w = whole.peek()
    if (!part) return state.setZoom(undefined, options)
    const long = Math.min(w.to - w.from, Math.max(least, part.to - part.from))
    const from = Math.max(w.from, Math.min(w.to - long, part.from))
    if (long >= (w.to - w.from) * 0.9999) state.setZoom(undefined, options)
    else state.setZoom({ from, to: from + long }, options)
  }
  return {
    whole,
    present,
    shown,
    zoomed: computed(() => state.zoom.value !== undefined),
    show,
    zoomBy(factor, around) {
      const s = shown.peek()
      const at = around ?? (s.from + s.to) / 2
      show({ from: at - (at - s.from) * factor, to: at + (s.to - at) * factor })
    },
    pan(share) {
      const s = shown.peek()
      const by = (s.to - s.from) * share
      show({ from: s.from + by, to: s.to + by })
    },
  }
}

// names is the share of the width that the names have.
export const names = signal(0.38)
