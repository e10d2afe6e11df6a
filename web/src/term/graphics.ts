let helps: boolean | null = null;

/**
 * Whether WebGL draws a terminal faster than the document does. Without a graphics card (virtual machines, remote
 * desktops) browsers emulate it on the processor: fast output then blocks the page for 100 to 200 ms at a time, which
 * drawing with the document does not. Phones take the context away from pages in the background, and their one small
 * terminal is drawn fast anyway.
 */
export function graphicsCardHelps(): boolean {
  helps ??= !matchMedia('(pointer: coarse)').matches && hasGraphicsCard();
  return helps;
}

/** Emulations by name: browsers without a display do not count them as slow. */
const EMULATED = /swiftshader|llvmpipe|softpipe|software|basic render/iu;

function hasGraphicsCard(): boolean {
  const context = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true });
  if (!context) return false;
  const names = context.getExtension('WEBGL_debug_renderer_info');
  const renderer = String(context.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  // Browsers allow only a few contexts at a time; this one must not cost a terminal its own.
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return !EMULATED.test(renderer);
}
