/** Decodes base64 that holds UTF-8, as the daemon sends text that may contain anything. */
export function base64Text(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
