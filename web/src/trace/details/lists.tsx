// SPDX-License-Identifier: Apache-2.0

import { Key, number, Text, visible } from '../../text/text'
import { absolute } from '../../text/time'
import { length, offset } from '../clock'
import type { Attribute, SpanEvent, Write } from '../types'

// The lists of one span.

export function Writes({ list, base, from }: { list: Write[]; base: number; from: number }) {
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

export function Events({ list, more, base, from }: { list: SpanEvent[]; more: number; base: number; from: number }) {
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

export function Attributes({ title, list }: { title: string; list: Attribute[] }) {
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
