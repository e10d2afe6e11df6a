/**
 * Copies text. The clipboard API exists only on secure origins, and a phone usually reaches the daemon by plain HTTP in
 * its own network, so there is a second way.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const previous = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  field.setAttribute('aria-hidden', 'true');
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (previous instanceof HTMLElement) previous.focus();
  return copied;
}
