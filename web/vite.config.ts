import react from '@vitejs/plugin-react';
import { defineConfig, type ProxyOptions } from 'vite';

// `SWB_DEV_SERVER` is the address of a running `swb serve`, for work on the page against real sessions:
//
//   swb serve --port 8888 --token dev
//   SWB_DEV_SERVER=http://127.0.0.1:8888 npm run dev     then open http://localhost:5173/?token=dev
//
// The daemon accepts every port of `localhost` as Host, and it compares Host with Origin: neither may be rewritten.
const server = process.env['SWB_DEV_SERVER'];
const proxy: Record<string, ProxyOptions> = server
  ? {
      '/api': { target: server, ws: true },
      '/ws': { target: server, ws: true },
      // The sign-in sets the cookie and then opens the page, which is Vite's again. Without `ws`, as Vite's own
      // WebSocket has a `token`, too.
      '^/\\?token=': { target: server },
      '/sign-in.js': { target: server },
    }
  : {};

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
  server: { proxy },
  preview: { proxy },
});
