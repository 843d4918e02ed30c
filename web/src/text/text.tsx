// SPDX-License-Identifier: Apache-2.0

// Text that objects supply is hostile: it may have control characters, directions, line breaks and any
// length. It is shown as text, on its own, with its control characters visible.

const controls = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g

// visible returns text in which control and formatting characters are readable: \n, \x1b, \u202e.
export function visible(text: string): string {
  return text.replace(controls, (c) => {
    const code = c.codePointAt(0) ?? 0
    const known = { 9: '\\t', 10: '\\n', 13: '\\r' }[code]
    if (known) return known
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

// quote writes a text for a question, with control and formatting characters as escapes.
export function quote(text: string): string {
  return JSON.stringify(text).replace(controls, (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

// number writes a number with separators: 12,345.
export const number = new Intl.NumberFormat('en').format

// short cuts the middle of a long text: the ends of names differ the most.
export function short(text: string, most: number): string {
  const runes = [...text]
  if (runes.length <= most) return text
  const head = Math.ceil((most - 1) / 2)
  return `${runes.slice(0, head).join('')}…${runes.slice(runes.length - (most - 1 - head)).join('')}`
}

const registry = String.raw`(?<![\w./:-])(?:[\w-]+\.[\w.-]+|[\w.-]+:\d+|localhost)\/(?:[\w.-]+\/)*`
// An image has a tag or a digest, or comes after that word. Other names with a prefix are no images:
// example.com/cleanup.
const image = new RegExp(String.raw`(?<=\bimage )${registry}(?=[\w.-])|${registry}(?=[\w.-]+(?::\w|@sha))`, 'g')

// brief leaves out the registries and folders of images: "pull image web:1" for registry.example.com/team/web:1.
export function brief(text: string): string {
  return text.replace(image, '')
}

// Key shows a key, a path or a value. It breaks at a separator, not inside a word.
export function Key({ of }: { of: string }) {
  return (
    <bdi class="mono">
      {visible(of)
        .split(/(?<=[./_:=@-])|(?=\[)/)
        .map((part, i) => (
          <span key={i}>
            {i > 0 && <wbr />}
            {part}
          </span>
        ))}
    </bdi>
  )
}

// briefer cuts long names inside a sentence, too.
export function briefer(text: string): string {
  return brief(text).replace(/[\w.-]{23,}/g, (name) => short(name, 18))
}

// Text shows a text of an object. `most` is the number of characters, and `by` makes the text brief. The whole
// text is the title if it may not be shown.
export function Text({ of, most, by, class: name }: { of: string; most?: number; by?: (text: string) => string; class?: string }) {
  const whole = visible(of)
  const named = by ? by(whole) : whole
  const shown = most === undefined ? named : short(named, most)
  return (
    <bdi class={name} title={by || shown !== whole ? whole : undefined}>
      {shown}
    </bdi>
  )
}
