// SPDX-License-Identifier: Apache-2.0

import { defineConfig } from 'vite'

// The output is committed and compared byte for byte: file names are stable, and nothing depends on
// the time or the machine.
export default defineConfig({
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: { '/api': 'http://127.0.0.1:7070' } },
  build: {
    outDir: '../app/internal/page/assets',
    emptyOutDir: true,
    assetsDir: '',
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        assetFileNames: '[name][extname]',
      },
    },
  },
})
