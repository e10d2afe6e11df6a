/** A value that components follow. The value is replaced, never changed in place. */
export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(change: Partial<T> | ((value: T) => Partial<T>)): void {
    const partial = typeof change === 'function' ? change(this.value) : change;
    this.value = { ...this.value, ...partial };
    for (const listener of [...this.listeners]) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}
