// SPDX-License-Identifier: Apache-2.0

import { brief, short, visible } from '../text/text'
import { length } from './clock'
import { endOf } from './draw'
import type { Item, Model } from './model'
import type { SpanDetail, SpanEvent } from './types'
import { isReconciliation, nameOf } from './words'

// Why one object took its time, in words: its longest phases, and what the longest one waited for.

// most is the number of phases in the sentence, and least the share of the shortest.
const most = 3
const least = 0.1
// longest bounds the reason, in characters.
const longest = 240

// explain returns the sentence about one object at a time; '' for an object without phases. `reason` is that of
// reasonOf.
export function explain(model: Model, id: string, reason: string, present: number): string {
  const item = model.item(id)
  const span = item?.span
  if (!span || span.other || !isReconciliation(span)) return ''
  const phases = phasesOf(model, id)
  const took = (i: Item) => endOf(i, present) - i.start
  const whole = took(item)
  if (phases.length === 0 || whole <= 0) return ''
  const said = [...phases].sort((a, b) => took(b) - took(a)).filter((p, i) => i < most && took(p) >= whole * least)
  const parts = said.map((p, i) => {
    const share = `${Math.min(100, Math.floor((took(p) / whole) * 100))} %`
    const work = brief(visible(nameOf(p.span!).what))
    return i > 0 ? `${share} for ${work}` : `${share} of it for ${work}${reason && ` (${reason})`}`
  })
  const { what, name } = nameOf(span)
  const begin = `${what} ${short(visible(name), 64)} ${item.open ? `has taken ${length(whole)} so far` : `took ${length(whole)}`}`
  return `${begin}${parts.length > 0 ? `; ${parts.join(', ')}` : ''}.${alike(item)}`
}

// reasonOf returns what the longest phase of an object, or one phase, waited for. It is '' if the span has a
// message of its own, which says the same.
export async function reasonOf(model: Model, detail: SpanDetail, present: number): Promise<string> {
  const { span } = detail
  if (span.other || span.message) return ''
  if (!isReconciliation(span)) return messageOf(detail.events)
  const took = (i: Item) => endOf(i, present) - i.start
  const phase = phasesOf(model, span.spanId).sort((a, b) => took(b) - took(a))[0]
  if (!phase) return ''
  if (phase.span!.message) return sentence(phase.span!.message)
  try {
    const own = messageOf((await model.source.span(phase.id)).events)
    if (own) return own
  } catch {
    // The Events of the object may have it.
  }
  const base = model.base.peek()
  const inside = (e: SpanEvent) => {
    const at = Date.parse(e.time) - base
    return at >= phase.start && (phase.open || at <= phase.end)
  }
  const warns = (e: SpanEvent) => e.attributes?.some((a) => a.key === 'k8s.event.type' && a.value === 'Warning')
  return messageOf(detail.events?.filter((e) => warns(e) && inside(e)))
}

// phasesOf returns the parts of the work on one object, without that on objects below it.
export function phasesOf(model: Model, id: string): Item[] {
  return model.children(id).filter((i) => i.span && !i.span.other && !isReconciliation(i.span) && /^(?!(create|update|patch|delete|apply) )/.test(i.span.name))
}

// alike compares an object with its siblings in a group.
function alike(item: Item): string {
  const group = item.up?.group
  return group ? ` Half of the ${new Intl.NumberFormat('en').format(group.count)} alike took up to ${length(group.p50 * 1000)}.` : ''
}

// messageOf returns the last message of events.
function messageOf(events: SpanEvent[] | undefined): string {
  for (const e of [...(events ?? [])].reverse()) {
    const message = e.attributes?.find((a) => a.key === 'lifeline.message')?.value
    if (typeof message === 'string' && message) return sentence(message)
  }
  return ''
}

// sentence returns the first sentence of a message. The scheduler's next ones are about preemption.
export function sentence(message: string): string {
  const end = message.search(/\.\s/)
  return short(visible(end > 0 ? message.slice(0, end) : message.replace(/\.\s*$/, '')), longest)
}
