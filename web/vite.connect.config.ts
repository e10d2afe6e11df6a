import { createHash } from 'node:crypto';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/**
 * The page for tunnels as one file that needs no server: `npm run connect-page` writes `connect.html`, with the program
 * and its styles inside. A browser loads no other scripts for a page that was opened from a file.
 */
export default defineConfig({
  plugins: [react(), oneFile()],
  build: {
    target: 'es2022',
    outDir: process.env['SWB_CONNECT_DIR'] ?? 'dist-connect',
    emptyOutDir: true,
    copyPublicDir: false,
    cssCodeSplit: false,
    assetsInlineLimit: Number.POSITIVE_INFINITY,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: { input: 'connect.html', output: { codeSplitting: false } },
  },
});

function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle: {
      // After Vite has filled in what it left open.
      order: 'post',
      handler(_, bundle) {
        const files = Object.values(bundle);
        const page = files.find((file) => file.fileName === 'connect.html');
        const scripts = files.filter((file) => file.type === 'chunk');
        if (page?.type !== 'asset' || scripts.length !== 1) throw new Error(`connect.html and one script were expected, not ${files.map((file) => file.fileName).join(', ')}`);
        // The end of the element would end the script, also inside of a string.
        const script = (scripts[0]?.code ?? '').replaceAll('</script', '<\\/script').trim();
        // Behind this, HTML would read the script's own tags as tags.
        if (script.includes('<!--')) throw new Error('the script contains the beginning of a comment of HTML');
        const styles = files.flatMap((file) => (file.type === 'asset' && file.fileName.endsWith('.css') ? [String(file.source)] : [])).join('\n');
        const hash = createHash('sha256').update(script).digest('base64');
        const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src http: https:; base-uri 'none'; form-action 'none'`;
        const html = String(page.source)
          .replaceAll(/<link rel="stylesheet"[^>]*>\s*/gu, '')
          .replaceAll(/<script type="module"[^>]*><\/script>\s*/gu, '')
          .replace('<meta charset="utf-8" />', (charset) => `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`)
          .replace('</head>', () => `<style>${styles}</style>\n  </head>`)
          .replace('</body>', () => `<script type="module">${script}</script>\n  </body>`);
        page.source = html;
        for (const file of files) if (file !== page) delete bundle[file.fileName];
      },
    },
  };
}
