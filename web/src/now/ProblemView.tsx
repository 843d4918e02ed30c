// SPDX-License-Identifier: Apache-2.0

import { CopyButton } from '../app/Copy'
import type { Problem, Ref } from '../api/types'
import { changed, named } from '../text/cause'
import { brief, number, quote, Text, visible } from '../text/text'
import { Ago, Elapsed } from '../text/time'
import { select, selected, toggle, unfolded } from './state'

// changesOf is the address of the changes of an object.
function changesOf(of: Ref): string {
  const clauses = [`kind == ${quote(of.kind)}`, of.namespace && `namespace == ${quote(of.namespace)}`, `name == ${quote(of.name)}`]
  return `/changes?${new URLSearchParams({ where: clauses.filter(Boolean).join(' && '), range: '7d' })}`
}

const key = (of: Ref) => [of.group, of.kind, of.namespace, of.name].join(' ')

// ProblemView is one problem: since when, what, why, who changed what, and the next command.
export function ProblemView({ of: p, focusable }: { of: Problem; focusable: boolean }) {
  const open = unfolded.value.has(p.id)
  const others = p.objects.filter((o) => key(o) !== key(p.object))
  const earlier = p.earlier ?? []
  const folds = p.count > 1 || earlier.length > 1
  return (
    <li
      class={`problem-row${p.note ? ' noted' : ''}${p.id === selected.value ? ' selected' : ''}`}
      data-problem={p.id}
      tabIndex={focusable ? 0 : -1}
      onFocus={(e) => {
        if (e.target === e.currentTarget && selected.peek() !== p.id && e.currentTarget.matches(':focus-visible')) select(p.id)
      }}
    >
      <p class="since">
        {p.before && <span title="It began before the first observation. No time of the object shows when.">over </span>}
        <Elapsed since={p.since} />
      </p>
      <div class="said">
        <p class="place">
          <a href={changesOf(p.object)} title={visible(`the changes of ${p.object.kind} ${named(p.object)}`)}>
            {p.object.namespace ? (
              <>
                <Text of={p.object.namespace} most={63} />/
              </>
            ) : null}
            <Text of={p.object.name} most={63} />
          </a>
          {p.count > 1 && (
            <button type="button" class="count" aria-expanded={open} onClick={() => toggle(p.id)}>
              +{number(p.count - 1)} more
            </button>
          )}
          <Spaces of={p} />
        </p>
        <p class="reason">
          <Sentence of={p} />
        </p>
        {p.cause && (
          <p class="cause">
            {p.cause.traceId ? (
              <a href={`/trace/${p.cause.traceId}`}>
                <Text of={changed(p.cause, p.object)} by={brief} />
              </a>
            ) : (
              <Text of={changed(p.cause, p.object)} by={brief} />
            )}
            <span class="soft">
              {', '}
              <Ago at={p.cause.start} past />
            </span>
          </p>
        )}
        {earlier.length > 0 && (
          <p class="earlier">
            before: <bdi>{visible(earlier[earlier.length - 1]!.reason)}</bdi>
            {earlier.length > 1 && !open && (
              <button type="button" class="count" aria-expanded={open} onClick={() => toggle(p.id)}>
                and {earlier.length - 1} earlier
              </button>
            )}
          </p>
        )}
        {open && folds && <More of={p} others={others} />}
        {p.next && (
          <p class="next">
            <code>{visible(p.next)}</code>
            <CopyButton text={() => p.next!} title="Copy the command" />
          </p>
        )}
      </div>
    </li>
  )
}

// Sentence is the whole reason. The name of the object stands out.
function Sentence({ of: p }: { of: Problem }) {
  const subject = `${p.object.kind} ${p.object.name}`
  if (!p.reason.startsWith(subject)) return <bdi>{visible(p.reason)}</bdi>
  return (
    <bdi>
      {visible(p.object.kind)} <b>{visible(p.object.name)}</b>
      {visible(p.reason.slice(subject.length))}
    </bdi>
  )
}

// few is the number of namespaces in a line, if there are more.
const few = 3

function Spaces({ of: p }: { of: Problem }) {
  const names = p.namespaces.filter((n) => n !== '')
  if (names.length < 2) return null
  const listed = names.length > few + 1 ? names.slice(0, few) : names
  return (
    <span class="soft">
      in {listed.map((n, i) => (
        <span key={n}>
          {i > 0 && ', '}
          <Text of={n} most={40} />
        </span>
      ))}
      {listed.length < names.length && ` and ${names.length - listed.length} more namespaces`}
    </span>
  )
}

// More has the other objects and the earlier reasons.
function More({ of: p, others }: { of: Problem; others: Ref[] }) {
  const earlier = (p.earlier ?? []).slice(0, -1).reverse()
  const left = p.count - 1 - others.length
  return (
    <div class="more-of">
      {earlier.length > 0 && (
        <ul>
          {earlier.map((e) => (
            <li key={e.since + e.reason}>
              <bdi>{visible(e.reason)}</bdi>
              <span class="soft">
                {', '}
                <Ago at={e.since} past />
              </span>
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <ul class="objects" aria-label="The other objects">
          {others.map((o) => (
            <li key={key(o)}>
              <a href={changesOf(o)}>
                <span class="soft">
                  <Text of={o.kind} />
                </span>{' '}
                <Text of={named(o)} most={80} />
              </a>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && <p class="soft">and {number(left)} further objects</p>}
    </div>
  )
}
