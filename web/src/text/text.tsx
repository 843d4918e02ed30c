// SPDX-License-Identifier: Apache-2.0

// Text that objects supply is hostile: it may have control characters, directions, line breaks and any
// length. It is shown as text, on its own, with its control characters visible.

const controls = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g

// visible returns text in which control and formatting characters are readable.
export function visible(text: string): string {
  return text.replace(controls, (c) => {
    const code = c.codePointAt(0) ?? 0
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

// short cuts the middle of a long text: the ends of names differ the most.
export function short(text: string, most: number): string {
  const runes = [...text]
  if (runes.length <= most) return text
  const head = Math.ceil((most - 1) / 2)
  return `${runes.slice(0, head).join('')}…${runes.slice(runes.length - (most - 1 - head)).join('')}`
}

// Text shows a text of an object. The whole text is its title if `most` cuts it.
export function Text({ of, most, class: name }: { of: string; most?: number; class?: string }) {
  const whole = visible(of)
  const shown = most === undefined ? whole : short(whole, most)
  return (
    <bdi class={name} title={shown === whole ? undefined : whole}>
      {shown}
    </bdi>
  )
}
