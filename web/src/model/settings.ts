/** Choices of this browser, kept in its storage. */
export interface Settings {
  notifications: boolean;
  sidebar: boolean;
  fontSize: number;
}

const KEY = 'switchboard.settings';
export const FONT_SIZES = { min: 9, max: 22, standard: 13 };
const STANDARD: Settings = { notifications: false, sidebar: true, fontSize: FONT_SIZES.standard };

export function loadSettings(): Settings {
  try {
    const saved = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>;
    const fontSize = Number(saved.fontSize) || STANDARD.fontSize;
    return {
      notifications: saved.notifications === true && 'Notification' in window && Notification.permission === 'granted',
      sidebar: saved.sidebar !== false,
      fontSize: Math.min(FONT_SIZES.max, Math.max(FONT_SIZES.min, fontSize)),
    };
  } catch {
    return STANDARD;
  }
}

export function saveSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Without storage the choices last until the page is closed.
  }
}
