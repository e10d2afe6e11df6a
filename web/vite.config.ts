import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `SWB_DEV_SERVER` names a running `swb serve`, for work on the page with `npm run dev`.
const server = process.env['SWB_DEV_SERVER'];

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // cargo names a directory of its own.
    outDir: process.env['SWB_PAGE_DIR'] ?? 'dist',
    emptyOutDir: true,
    // The server's content security policy allows neither inline code nor data: fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: server
    ? { proxy: { '/api': { target: server, ws: true }, '/ws': { target: server, ws: true } } }
    : {},
});
