import react from '@vitejs/plugin-react';
import { defineConfig, type HtmlTagDescriptor, type Plugin, type ProxyOptions } from 'vite';

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

/**
 * Names the view, its style and the tables of widths in the document. The first script imports the view, so a browser would begin to load it
 * only once that script runs.
 */
function preloadView(): Plugin {
  return {
    name: 'preload-view',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        const chunk = (name: string) => {
          const found = Object.values(bundle).find((file) => file.type === 'chunk' && file.name === name);
          if (found?.type !== 'chunk') throw new Error(`no chunk ${name}`);
          return found;
        };
        const tag = (rel: string, file: string): HtmlTagDescriptor => ({ tag: 'link', attrs: { rel, crossorigin: true, href: `/${file}` }, injectTo: 'head' });
        // The view shares its parts with the page for tunnels, so they are in a file of their own.
        const view = chunk('view');
        const parts = view.imports.flatMap((file) => {
          const part = bundle[file];
          return part?.type === 'chunk' && !part.isEntry ? [part] : [];
        });
        const styles = [view, ...parts].flatMap((part) => [...(part.viteMetadata?.importedCss ?? [])]);
        const modules = [view, ...parts, chunk('addon-unicode-graphemes')];
        return [...modules.map(({ fileName }) => tag('modulepreload', fileName)), ...[...new Set(styles)].map((file) => tag('stylesheet', file))];
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), preloadView()],
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
