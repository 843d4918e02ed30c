// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from 'preact'
import { brief, number, Text } from '../../text/text'
import { length } from '../clock'
import type { Item, Model } from '../model'
import type { TreeSpan } from '../types'
import { Facts, jump, Panel, Way } from './Panel'

// GroupDetails shows spans that are alike: their durations, and those farthest from the middle.
export function GroupDetails({ item, model, close, unfolded, toggle }: {
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
