// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'
import { ask } from '../api/client'
import { absolute } from '../text/time'
import { length } from './clock'
import { percent, type Share } from './shares'
import { nameOf, objectName } from './words'
import { visible } from '../text/text'

// cell makes a text harmless in a table of Markdown.
function cell(text: string): string {
  return visible(text).replace(/[\\`*_{}[\]<>()#+!|~&$@:]/g, (c) => (c === ':' || c === '(' || c === ')' || c === '+' ? c : `\\${c}`)).replace(/@/g, '@\u2060')
}

// markdown describes a change for an issue or a message.
export function markdown(s: Summary, sentence: string, shares: Share[], by: string, link: string): string {
  const lines = [`**${cell(sentence)}**`, '']
  const facts = [by && `by ${cell(by)}`, absolute(Date.parse(s.start)), s.edits?.length ? cell(s.edits.join(', ')) : '']
  lines.push(facts.filter(Boolean).join(' · '), '')
  if (shares.length > 0) {
    lines.push('| waited for | of | time | share |', '| --- | --- | ---: | ---: |')
    for (const one of shares) {
      const { what, name } = nameOf(one.span)
      const more = one.count > 1 ? ` and ${one.count - 1} more` : ''
      const of = (one.span.object?.name ? objectName(one.span.object) : (one.span.service ?? '')) + more
      lines.push(`| ${cell(name ? `${what}, waiting` : what)} | ${cell(of)} | ${length(one.ms)} | ${percent(one.part)} |`)
    }
    lines.push('')
  }
  lines.push(`[Trace ${s.traceId.slice(0, 8)}](${link})`, '')
  return lines.join('\n')
}

export interface Format {
  name: string
  title: string
  // format is the parameter of the API; empty for its default.
  format: string
  extension: string
}

export const formats: Format[] = [
  { name: 'html', title: 'One HTML file', format: 'html', extension: 'html' },
  { name: 'otlp', title: 'OTLP JSON', format: '', extension: 'json' },
  { name: 'perfetto', title: 'Perfetto', format: 'perfetto', extension: 'perfetto.json' },
  { name: 'mermaid', title: 'Mermaid', format: 'mermaid', extension: 'mmd' },
]

// download saves a form of a trace. A link cannot send a token, so the page asks for it.
export async function download(trace: string, format: Format): Promise<void> {
  const response = await ask(`traces/${trace}`, { format: format.format })
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = `trace-${trace.slice(0, 8)}.${format.extension}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
