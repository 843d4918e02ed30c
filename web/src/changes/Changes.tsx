// SPDX-License-Identifier: Apache-2.0

// Changes is the live list of changes.
export default function Changes() {
  return <div class="blank" />
}
