// SPDX-License-Identifier: Apache-2.0

import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { ApiError } from '../api/client'
import type { Summary } from '../api/types'
import { changed } from '../text/cause'
import { brief, Key, number, Text, visible } from '../text/text'
import { absolute } from '../text/time'
import { length, offset } from './clock'
import { explain, reasonOf } from './explain'
import type { Item, Model } from './model'
import { title } from './sentence'
import { percent, sharesOf, type Share } from './shares'
import { mostSummaries } from './source'
import * as state from './state'
import type { Attribute, Cause, NodeChange, SpanDetail, SpanEvent, TreeSpan, Write } from './types'
import type { Window } from './view'
import { evidence, link, nameOf, objectName, sources } from './words'

// Details shows the selected row, or the whole change.
export function Details({ model, window: view }: { model: Model; window: Window }) {
  const id = state.at.value
  const row = useComputed(() => {
    const i = model.index.value.get(state.at.value)
    return i === undefined ? undefined : model.rows.value[i]
  }).value
  const close = (
    <button type="button" class="tool close" onClick={() => state.select('')} aria-label="Close the details">
      ×
    </button>
  )
  if (id === '') return <Overview model={model} view={view} />
  if (row?.kind === 'group') return <GroupDetails item={row.item} model={model} close={close} unfolded={row.unfolded} toggle={() => model.toggle(row)} />
  if (row?.kind === 'others') {
    return (
      <Panel title={`${number(row.count)} spans of other components`} close={close}>
        <p class="note">
          Other components, such as the API server, the kubelet and containerd, recorded the same work in more detail. Their spans
          joined this change by {row.up ? 'their identity, a request or a Pod' : 'their trace'}.
        </p>
        <p>
          <button type="button" onClick={() => model.toggle(row)}>
            {row.unfolded ? 'Fold' : 'Unfold'}
          </button>
        </p>
      </Panel>
    )
  }
  if (/^[0-9a-f]{16}$/.test(id)) return <SpanDetails key={id} id={id} model={model} view={view} close={close} />
  return <Overview model={model} view={view} />
}

function Panel({ title, close, children }: { title: string; close?: ComponentChildren; children: ComponentChildren }) {
  return (
    <aside class="details" aria-label="Details">
      <div class="details-head">
        <h2>
          <bdi>{visible(title)}</bdi>
        </h2>
        {close}
      </div>
      {children}
    </aside>
  )
}

// Overview says where the time of the change went, and what it is linked with.
function Overview({ model, view }: { model: Model; view: Window }) {
  const shares = useSignal<Share[]>([])
  useSignalEffect(() => {
    model.tree.value
    model.rows.value
    void sharesOf(model).then((list) => (shares.value = list))
  })
  const summary = model.tree.value?.summary
  return (
    <Panel title="Where the time went">
      <ol class="shares">
        {shares.value.map((s) => (
          <li key={s.span.spanId}>
            <button type="button" class="jump" onClick={() => void jump(model, s.span.spanId)}>
              <span class="share-bar" style={{ width: `${Math.max(1, s.part * 100)}%` }} aria-hidden="true" />
              <span class="share-words">
                <span class="label">
                  {s.count > 1 && <b>{number(s.count)} × </b>}
                  <bdi>{brief(visible(labelOf(s)))}</bdi>
                </span>
                <span class="value">
                  {length(s.ms)} <span class="soft">{percent(s.part)}</span>
                </span>
              </span>
              {s.span.object && s.span.object.name && (s.count > 1 || !s.span.name.startsWith('reconcile ')) && (
                <span class="soft of">
                  <Text of={objectName(s.span.object)} most={60} />
                  {s.count > 1 && `, ${length(s.longest)}, and ${number(s.count - 1)} more`}
                </span>
              )}
            </button>
          </li>
        ))}
      </ol>
      {shares.value.length > 0 && (
        <p class="note">
          The critical path: at each moment, the work that the change waited for. <kbd>c</kbd> shows it in the waterfall.
        </p>
      )}
      <Linked model={model} />
      {summary && <p class="note">{number(model.tree.value!.spans)} spans, from {absolute(model.base.value + view.whole.value.from)}</p>}
    </Panel>
  )
}

function labelOf(s: Share): string {
  const { what, name } = nameOf(s.span)
  if (!name) return what
  return s.count > 1 ? `${what}, waiting` : `${what} ${name}, waiting`
}

async function jump(model: Model, id: string): Promise<void> {
  if (await model.reveal(id)) state.select(id)
}

// mostLinks bounds the links of a list.
const mostLinks = 20

// Linked lists the traces at the other ends of links, with what each says about itself.
function Linked({ model }: { model: Model }) {
  const causes = useSignal<Cause[]>([])
  const problem = useSignal('')
  useSignalEffect(() => {
    model.asked.value
    // The trace itself comes first.
    const timer = setTimeout(() => {
      model.source.causes().then(
        (list) => {
          causes.value = list
          problem.value = ''
        },
        // The frame shows an absent server and a missing token.
        (err: unknown) => (problem.value = err instanceof ApiError && err.status !== 401 ? err.message : ''),
      )
    }, 400)
    return () => clearTimeout(timer)
  })
  const mine = model.tree.value?.summary?.traceId
  const seen = new Set<string>()
  const links = causes.value.flatMap((c) => {
    const out = c.traceId === mine
    const trace = out ? c.ofTrace : c.traceId
    const key = `${trace} ${c.reason ?? ''} ${out}`
    if (seen.has(key)) return []
    seen.add(key)
    return [{ trace, span: out ? c.ofSpan : c.spanId, reason: c.reason, out }]
  })
  const summaries = useSummaries(model, links.slice(0, mostLinks).map((l) => l.trace))
  if (links.length === 0 && problem.value === '') return null
  return (
    <section>
      <h3>Linked traces</h3>
      {problem.value && (
        <p class="note" role="status">
          They are missing or old. <Text of={problem.value} />
        </p>
      )}
      <ul class="plain">
        {links.slice(0, mostLinks).map((l) => (
          <li key={`${l.trace} ${l.reason} ${l.out}`}>
            <LinkedTrace model={model} trace={l.trace} span={l.span} summary={summaries.get(l.trace)} />
            <span class="soft"> {l.out ? link(l.reason) : 'follows from this change'}</span>
          </li>
        ))}
      </ul>
      {links.length > mostLinks && <p class="note">and {links.length - mostLinks} more</p>}
    </section>
  )
}

// useSummaries returns the known summaries of traces, by ID.
function useSummaries(model: Model, traces: string[]): ReadonlyMap<string, Summary> {
  const known = useSignal<ReadonlyMap<string, Summary>>(new Map())
  const ids = [...new Set(traces)].slice(0, mostSummaries).join(',')
  useEffect(() => {
    if (ids === '') return
    model.source.summaries(ids.split(',')).then(
      (list) => (known.value = new Map(list.map((s) => [s.traceId, s]))),
      () => undefined, // a link without words has the ID
    )
  }, [model, ids])
  return known.value
}

function LinkedTrace({ model, trace, span, summary }: { model: Model; trace: string; span: string; summary: Summary | undefined }) {
  const words = summary ? title(summary) : `trace ${trace.slice(0, 8)}`
  if (!model.source.live) return <Text of={words} most={80} />
  return (
    <a href={`/trace/${trace}${/^0*$/.test(span) ? '' : `?at=${span}`}`}>
      <Text of={words} most={80} />
    </a>
  )
}

function GroupDetails({ item, model, close, unfolded, toggle }: {
  item: Item
  model: Model
  close: ComponentChildren
  unfolded: boolean
  toggle: () => void
}) {
  const g = item.group!
  const rows: [string, number][] = [
    ['shortest', g.min], ['half within', g.p50], ['90 % within', g.p90], ['99 % within', g.p99], ['longest', g.max],
  ]
  return (
    <Panel title={`${number(g.count)} × ${brief(g.label)}`} close={close}>
      <Way way={wayOf(item)} />
      <p class="note">
        Siblings that are alike: the same work, component{g.outcome ? ', outcome' : ''} and phases{g.images?.length ? ', and the same images' : ''}.
        {g.open ? ` ${number(g.open)} have not ended.` : ''}
      </p>
      <p>
        <button type="button" onClick={toggle}>
          {unfolded ? 'Fold' : `Unfold ${number(g.count)}`} <kbd>f</kbd>
        </button>
      </p>
      <table class="numbers">
        <caption class="hidden">Durations</caption>
        <tbody>
          {rows.map(([name, seconds]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{length(seconds * 1000)}</td>
              <td class="meter">
                <span style={{ width: `${g.max > 0 ? Math.max(1, (seconds / g.max) * 100) : 0}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {g.outliers && g.outliers.length > 0 && (
        <section>
          <h3>Farthest from the middle</h3>
          <ul class="plain">
            {[...g.outliers].sort((a, b) => (lasted(a) < lasted(b) ? 1 : -1)).map((o) => (
              <li key={o.spanId}>
                <button type="button" class="jump" onClick={() => void jump(model, o.spanId)}>
                  <span class="share-words">
                    <Text of={o.object?.name || o.label} most={48} class="mono label" />
                    <span class="value">{o.end ? length(Date.parse(o.end) - Date.parse(o.start)) : 'not ended'}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Facts
        list={[
          ['outcome', g.outcome],
          ['reason', g.reason],
          ['phases', g.phases?.join(', ')],
          ['images', g.images?.join(', ')],
        ]}
      />
    </Panel>
  )
}

// lasted is the duration of a span, the longest for an open one.
const lasted = (s: TreeSpan) => (s.end ? Date.parse(s.end) - Date.parse(s.start) : Infinity)

function wayOf(item: Item): TreeSpan[] {
  const out: TreeSpan[] = []
  for (let up = item.up; up; up = up.up) if (up.span) out.unshift(up.span)
  return out
}

// Way is the breadcrumb to a span.
function Way({ way }: { way: TreeSpan[] }) {
  if (way.length === 0) return null
  return (
    <nav class="way" aria-label="Way from the root">
      {way.map((s, i) => {
        const { what, name } = nameOf(s)
        return (
          <span key={s.spanId}>
            {i > 0 && <span aria-hidden="true"> › </span>}
            <button type="button" onClick={() => state.select(s.spanId)}>
              <Text of={name ? `${what} ${name}` : what} most={32} />
            </button>
          </span>
        )
      })}
    </nav>
  )
}

function Facts({ list }: { list: [string, string | undefined][] }) {
  const shown = list.filter(([, value]) => value)
  if (shown.length === 0) return null
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Text of={value!} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

// shownElsewhere are attributes that the details have in words.
const shownElsewhere = /^(k8s\.object\.(group|version|kind|namespace|name)|lifeline\.(outcome|evidence|time\.source(\.start)?|critical_path))$/

function SpanDetails({ id, model, view, close }: { id: string; model: Model; view: Window; close: ComponentChildren }) {
  const detail = useSignal<SpanDetail | undefined>(undefined)
  const problem = useSignal<Error | undefined>(undefined)
  const reason = useSignal('')
  const attempt = useSignal(0)
  useSignalEffect(() => {
    model.asked.value
    attempt.value
    model.source.span(id).then(
      (d) => {
        detail.value = d
        problem.value = undefined
        void reasonOf(model, d, view.present.peek()).then((text) => (reason.value = text))
      },
      (err: unknown) => (problem.value = err instanceof Error ? err : new Error(String(err))),
    )
  })
  const d = detail.value
  if (!d) {
    const wrong = problem.value
    if (!wrong) return <Panel title="Loading" close={close}>{null}</Panel>
    if (wrong instanceof ApiError && wrong.status === 404) {
      return (
        <Panel title="This span is not there" close={close}>
          <p class="note">The trace has no span with this ID. It may have changed since the link was copied.</p>
        </Panel>
      )
    }
    return (
      <Panel title="The span cannot be shown" close={close}>
        <p role="alert">
          <bdi>{visible(wrong.message)}</bdi>
        </p>
        <p>
          <button type="button" onClick={() => attempt.value++}>
            Try again
          </button>
        </p>
      </Panel>
    )
  }
  const s = d.span
  const base = model.base.value
  const start = offset(s.start, base)
  const end = s.end === undefined ? view.present.value : offset(s.end, base)
  const { what, name } = nameOf(s)
  const parent = d.way.at(-2)?.span
  const path = model.path.value.get(id)
  const because = explain(model, id, reason.value, view.present.value) || reason.value
  // The start is the latest possible one, if an attribute has the earliest.
  const earliest = d.attributes.find((a) => a.key === 'lifeline.time.earliest')?.value as string | undefined
  const waited = path?.reduce((sum, p) => sum + p.to - p.from, 0) ?? 0
  return (
    <Panel title={name ? `${what} ${name}` : what} close={close}>
      <Way way={d.way.slice(0, -1).map((step) => step.span)} />
      <p class="figures">
        <b>
          {earliest && '~'}
          {length(end - start)}
        </b>
        {s.end === undefined && ' so far'}
        {s.outcome && <span class={`outcome o-${s.outcome}`}> {s.outcome}</span>}
        {s.failed && !s.outcome && <span class="outcome o-failed"> error</span>}
        {waited > 0 && <span class="soft"> · {length(waited)} on the critical path</span>}
      </p>
      {because && (
        <p class="because">
          <bdi>{because}</bdi>
        </p>
      )}
      {d.scheduling && (
        <p class="because">
          <bdi>{visible(d.scheduling)}</bdi>
        </p>
      )}
      {d.nodes && d.nodes.length > 0 && <NodeChanges list={d.nodes} />}
      {s.message && (
        <p class={s.failed ? 'message failed' : 'message'}>
          <Text of={s.message} />
        </p>
      )}
      <Facts list={[['object', s.object && s.object.name ? objectName(s.object) : undefined], ['component', s.service], ['span', what === s.name ? undefined : s.name]]} />
      <dl class="facts">
        <div>
          <dt>start</dt>
          <dd>
            {earliest && '~'}
            {length(start - view.whole.value.from)} after the start
            <span class="soft source">
              {absolute(base + start)}
              {s.startSource && <> · {sources[s.startSource] ?? s.startSource}</>}
              {earliest && <> · at the earliest {absolute(Date.parse(earliest))}</>}
            </span>
          </dd>
        </div>
        <div>
          <dt>end</dt>
          <dd>
            {s.end === undefined ? 'not ended' : `${length(end - view.whole.value.from)} after the start`}
            {s.end !== undefined && (
              <span class="soft source">
                {absolute(base + end)}
                {s.endSource && <> · {sources[s.endSource] ?? s.endSource}</>}
              </span>
            )}
          </dd>
        </div>
        {parent && s.evidence && (
          <div>
            <dt>evidence</dt>
            <dd>
              below <Text of={nameOf(parent).name || nameOf(parent).what} most={40} class="mono" /> {evidence[s.evidence] ?? s.evidence}
            </dd>
          </div>
        )}
      </dl>
      {d.writes && d.writes.length > 0 && <Writes list={d.writes} base={base} from={view.whole.value.from} />}
      {d.events && d.events.length > 0 && <Events list={d.events} more={d.droppedEvents ?? 0} base={base} from={view.whole.value.from} />}
      {d.links && d.links.length > 0 && <Links model={model} list={d.links} />}
      <Attributes title="Attributes" list={d.attributes.filter((a) => !shownElsewhere.test(a.key))} />
      <Attributes title="Resource" list={d.resource ?? []} />
      <p class="note mono">span {id}</p>
    </Panel>
  )
}

// NodeChanges are the changes of nodes that explain why the scheduler rejected them, each with its trace.
function NodeChanges({ list }: { list: NodeChange[] }) {
  return (
    <ul class="plain node-changes">
      {list.map((n) => (
        <li key={`${n.what} ${n.node}`}>
          <Text of={n.text} />:{' '}
          {n.cause.traceId ? (
            <a href={`/trace/${n.cause.traceId}`}>
              <Text of={changed(n.cause)} most={120} />
            </a>
          ) : (
            <Text of={changed(n.cause)} most={120} />
          )}
          <span class="soft source">{absolute(Date.parse(n.at))}</span>
        </li>
      ))}
    </ul>
  )
}

function Links({ model, list }: { model: Model; list: NonNullable<SpanDetail['links']> }) {
  const own = model.tree.value?.summary?.traceId
  const shown = list.slice(0, mostLinks)
  const summaries = useSummaries(model, shown.flatMap((l) => (l.traceId === own ? [] : [l.traceId])))
  return (
    <section>
      <h3>Links</h3>
      <ul class="plain">
        {shown.map((l) => (
          <li key={`${l.traceId} ${l.spanId} ${l.reason}`}>
            {l.traceId === own ? (
              <button type="button" class="as-link" onClick={() => void jump(model, l.spanId)}>
                another span of this trace
              </button>
            ) : (
              <LinkedTrace model={model} trace={l.traceId} span={l.spanId} summary={summaries.get(l.traceId)} />
            )}
            <span class="soft"> {link(l.reason)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Writes({ list, base, from }: { list: Write[]; base: number; from: number }) {
  return (
    <section>
      <h3>{list.length === 1 ? 'Write' : `${number(list.length)} writes`}</h3>
      <ol class="plain timed">
        {list.slice(0, 50).map((w, i) => (
          <li key={i}>
            <When at={w.end} base={base} from={from} />
            <p>
              <b>{w.verb ?? 'write'}</b>
              {w.subresource && <Text of={`/${w.subresource}`} />}
              {w.part && w.part !== 'desired' && <span class="soft"> of {w.part} state</span>}
              {(w.actor || w.user) && (
                <>
                  {' '}
                  by <Text of={w.actor || w.user || ''} most={48} />
                  {w.user && w.actor && (
                    <span class="soft">
                      {' '}
                      (<Text of={w.user} most={48} />)
                    </span>
                  )}
                </>
              )}
            </p>
            {w.changes && w.changes.length > 0 && (
              <table class="changes-of">
                <caption class="hidden">What the write changed</caption>
                <tbody>
                  {w.changes.map((c) => (
                    <tr key={c.path}>
                      <th scope="row">
                        <Key of={c.path} />
                      </th>
                      <td>
                        {c.operation === 'add' && <span class="op add">added</span>}
                        {c.operation === 'remove' && <span class="op remove">removed</span>}
                        {c.operation === 'replace' && !c.from && !c.to && <span class="op">changed</span>}
                        {c.from && (
                          <del>
                            <Key of={c.from} />
                          </del>
                        )}
                        {c.from && c.to && ' → '}
                        {c.to && (
                          <ins>
                            <Key of={c.to} />
                          </ins>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {!!w.moreChanges && <p class="note">and {number(w.moreChanges)} further fields</p>}
          </li>
        ))}
      </ol>
      {list.length > 50 && <p class="note">and {number(list.length - 50)} more</p>}
    </section>
  )
}

// When is a time after the start, the first column of writes and of events.
function When({ at, base, from }: { at: string; base: number; from: number }) {
  return (
    <span class="soft when" title={absolute(Date.parse(at))}>
      {length(offset(at, base) - from)}
    </span>
  )
}

function Events({ list, more, base, from }: { list: SpanEvent[]; more: number; base: number; from: number }) {
  return (
    <section>
      <h3>Events</h3>
      <ol class="plain timed">
        {list.slice(0, 100).map((e, i) => (
          <li key={i}>
            <When at={e.time} base={base} from={from} />
            <div>
              <Text of={e.name} />
              {e.attributes && e.attributes.length > 0 && (
                <span class="soft values">
                  {e.attributes.map((a) => (
                    <span key={a.key} title={visible(a.key)}>
                      {textOf(a)}
                    </span>
                  ))}
                </span>
              )}
            </div>
          </li>
        ))}
      </ol>
      {list.length + more > 100 && <p class="note">and {number(Math.max(0, list.length - 100) + more)} more</p>}
    </section>
  )
}

function textOf(a: Attribute): string {
  return visible(Array.isArray(a.value) ? a.value.join(', ') : String(a.value))
}

function Attributes({ title, list }: { title: string; list: Attribute[] }) {
  if (list.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <dl class="facts attributes">
        {list.map((a) => (
          <div key={a.key}>
            <dt>
              <Key of={a.key} />
            </dt>
            <dd>
              <bdi class="mono">{textOf(a)}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
