// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { brief, number, Text, visible } from '../../text/text'
import { absolute } from '../../text/time'
import { length } from '../clock'
import type { Model } from '../model'
import { percent, sharesOf, type Share } from '../shares'
import type { Window } from '../view'
import { nameOf, objectName } from '../words'
import { Linked } from './Links'
import { jump, Panel } from './Panel'

// Overview says where the time of the change went, and what it is linked with.
export function Overview({ model, view }: { model: Model; view: Window }) {
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
