// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ApiError } from '../../api/client'
import { changed } from '../../text/cause'
import { Text, visible } from '../../text/text'
import { absolute } from '../../text/time'
import { length, offset } from '../clock'
import { explain, reasonOf } from '../explain'
import type { Model } from '../model'
import type { NodeChange, SpanDetail } from '../types'
import type { Window } from '../view'
import { evidence, nameOf, objectName, sources } from '../words'
import { Attributes, Events, Writes } from './lists'
import { Links } from './Links'
import { Facts, Panel, Way } from './Panel'

// shownElsewhere are attributes that the details have in words.
const shownElsewhere = /^(k8s\.object\.(group|version|kind|namespace|name)|lifeline\.(outcome|evidence|time\.source(\.start)?|critical_path))$/

// SpanDetails shows one span: how long it took and why, and all that it records.
export function SpanDetails({ id, model, view, close }: { id: string; model: Model; view: Window; close: ComponentChildren }) {
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
