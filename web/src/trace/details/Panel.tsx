// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from 'preact'
import { Text, visible } from '../../text/text'
import type { Model } from '../model'
import * as state from '../state'
import type { TreeSpan } from '../types'
import { nameOf } from '../words'

// Panel is the frame of the details.
export function Panel({ title, close, children }: { title: string; close?: ComponentChildren; children: ComponentChildren }) {
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

// Way is the breadcrumb to a span.
export function Way({ way }: { way: TreeSpan[] }) {
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

// Facts is a list of names and values, without the empty ones.
export function Facts({ list }: { list: [string, string | undefined][] }) {
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

// jump selects a span, after unfolding the groups above it.
export async function jump(model: Model, id: string): Promise<void> {
  if (await model.reveal(id)) state.select(id)
}
