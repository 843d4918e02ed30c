// SPDX-License-Identifier: Apache-2.0

import { offset } from './clock'
import type { Model } from './model'
import type { TreeSpan } from './types'
import { nameOf } from './words'

// Share is a kind of work on the critical path, and the time that the change waited for it.
export interface Share {
  // span is the longest one of that kind, longest its time, and count the number of all.
  span: TreeSpan
  longest: number
  count: number
  // ms is the time of all, and part its share of the whole path.
  ms: number
  part: number
}

// most is the number of shares, and mostSpans that of the spans that are asked for.
const most = 8
const mostSpans = 24

// asked has the hidden spans that were asked for, by model.
const asked = new WeakMap<Model, Map<string, TreeSpan>>()

// sharesOf returns the work that the change waited for, the longest first.
export async function sharesOf(model: Model): Promise<Share[]> {
  const tree = model.tree.peek()
  if (!tree?.path) return []
  const base = model.base.peek()
  const known = asked.get(model) ?? new Map<string, TreeSpan>()
  asked.set(model, known)
  for (const r of model.rows.peek()) if (r.kind === 'span') known.set(r.id, r.item.span!)
  const times = new Map<string, number>()
  let whole = 0
  for (const s of tree.path) {
    const ms = offset(s.end, base) - offset(s.start, base)
    times.set(s.spanId, (times.get(s.spanId) ?? 0) + ms)
    whole += ms
  }
  const longest = [...times].sort((a, b) => b[1] - a[1]).slice(0, mostSpans)
  const kinds = new Map<string, Share>()
  for (const [id, ms] of longest) {
    let span = known.get(id)
    if (!span) {
      try {
        span = (await model.source.span(id)).span
        known.set(id, span)
      } catch {
        continue
      }
    }
    const kind = nameOf(span).what
    const one = kinds.get(kind) ?? { span, longest: ms, count: 0, ms: 0, part: 0 }
    one.count++
    one.ms += ms
    kinds.set(kind, one)
  }
  const out = [...kinds.values()].sort((a, b) => b.ms - a.ms).slice(0, most)
  for (const one of out) one.part = whole > 0 ? one.ms / whole : 0
  return out
}

// percent formats a part of 1, rounded down as in the sentence of the trace.
export function percent(part: number): string {
  return part > 0 && part < 0.01 ? '< 1 %' : `${Math.floor(part * 100 + 1e-6)} %`
}
